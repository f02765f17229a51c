import { policyServer } from '../../src/stack/python-services';
import { removeHome, temporaryHome } from './temporary-home';

/** The command line of the policy server under these variables, without address and token. */
async function optionsUnder(env: Record<string, string>) {
  const config = temporaryHome(env);
  const { args } = policyServer.launch({ config, state: { ports: { 'policy-server': 8800 } } });
  await removeHome(config);
  return args.filter((_, i) => i < 2 || i > 7);
}

test('the small policy server is run unless vLLM is asked for', async () => {
  expect(await optionsUnder({})).toEqual(['-m', 'coevolve_policy_server']);
  expect(await optionsUnder({ COEVOLVE_POLICY_CONTEXT: '2048', COEVOLVE_POLICY_THREADS: '2' })).toEqual([
    ...['-m', 'coevolve_policy_server', '--max-context', '2048', '--threads', '2'],
  ]);
});

test('vLLM gets its interpreter, and its own arguments as one word', async () => {
  const vllm = { COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_VLLM_PYTHON: '/opt/vllm/bin/python' };
  expect(await optionsUnder({ ...vllm, COEVOLVE_VLLM_ARGUMENTS: '--tensor-parallel-size 2' })).toEqual([
    ...['-m', 'coevolve_vllm', '--vllm-python', '/opt/vllm/bin/python'],
    '--vllm-arguments=--tensor-parallel-size 2',
  ]);
});
