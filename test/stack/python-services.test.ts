import { policyServer } from '../../src/stack/python-services';
import { removeHome, temporaryHome } from './temporary-home';

/** Returns the command line of the policy server with these variables, without address and token. */
async function optionsWith(env: Record<string, string>) {
  const config = temporaryHome(env);
  const { args } = policyServer.launch({ config, state: { ports: { 'policy-server': 8800 } } });
  await removeHome(config);
  return args.filter((_, i) => i < 2 || i > 7);
}

test('the default policy server is the small one', async () => {
  expect(await optionsWith({})).toEqual(['-m', 'coevolve_policy_server']);
  expect(await optionsWith({ COEVOLVE_POLICY_CONTEXT: '2048', COEVOLVE_POLICY_THREADS: '2' })).toEqual([
    ...['-m', 'coevolve_policy_server', '--max-context', '2048', '--threads', '2'],
  ]);
});

test('vLLM receives its interpreter and its arguments as one string', async () => {
  const vllm = { COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_VLLM_PYTHON: '/opt/vllm/bin/python' };
  expect(await optionsWith({ ...vllm, COEVOLVE_VLLM_ARGUMENTS: '--tensor-parallel-size 2' })).toEqual([
    ...['-m', 'coevolve_vllm', '--vllm-python', '/opt/vllm/bin/python'],
    '--vllm-arguments=--tensor-parallel-size 2',
  ]);
});
