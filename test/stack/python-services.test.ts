import { policyServer } from '../../src/stack/python-services';
import { removeHome, temporaryHome } from './temporary-home';

/** Returns the command line of the policy server with these variables, without address and token. */
async function optionsWith(env: Record<string, string>) {
  const config = temporaryHome(env);
  const { args } = policyServer.launch({ config, state: { ports: { 'policy-server': 8800 }, variables: {} } });
  await removeHome(config);
  return args.filter((_, i) => i < 2 || i > 7);
}

test('the default policy server is the small one', async () => {
  expect(await optionsWith({})).toEqual(['-m', 'coevolve_policy_server']);
  expect(await optionsWith({ COEVOLVE_POLICY_CONTEXT: '2048', COEVOLVE_POLICY_THREADS: '2' })).toEqual([
    '-m',
    'coevolve_policy_server',
    '--max-context',
    '2048',
    '--threads',
    '2',
  ]);
});

test('each vLLM process gets devices of its own from the end of the inventory, and the folder of the leases', async () => {
  const vllm = { COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_VLLM_PYTHON: '/opt/vllm/bin/python' };
  const devicesWith = async (env: Record<string, string>) => {
    const options = await optionsWith({ ...vllm, ...env });
    return options.filter((_, i) => options[i - 1] === '--devices');
  };
  expect(await devicesWith({ COEVOLVE_DEVICES: '8x80GiB' })).toEqual(['7', '6']);
  expect(await devicesWith({ COEVOLVE_DEVICES: '8x80GiB', COEVOLVE_VLLM_DEVICES: '2' })).toEqual(['6,7', '4,5']);
  expect(await devicesWith({ COEVOLVE_DEVICES: '4x80GiB', COEVOLVE_VLLM_PROCESSES: '3' })).toEqual(['3', '2', '1']);
  expect(await devicesWith({ COEVOLVE_DEVICES: '1x80GiB' })).toEqual(['0']);
  expect(await devicesWith({ COEVOLVE_DEVICES: 'none' })).toEqual([]);
  const options = await optionsWith({ ...vllm, COEVOLVE_DEVICES: '1x80GiB' });
  expect(options.at(-1)).toMatch(/\/devices$/);
});

test('vLLM receives its interpreter and its arguments as one string', async () => {
  const vllm = { COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_VLLM_PYTHON: '/opt/vllm/bin/python' };
  expect(await optionsWith({ ...vllm, COEVOLVE_VLLM_ARGUMENTS: '--tensor-parallel-size 2' })).toEqual([
    '-m',
    'coevolve_vllm',
    '--vllm-python',
    '/opt/vllm/bin/python',
    '--vllm-arguments=--tensor-parallel-size 2',
  ]);
});
