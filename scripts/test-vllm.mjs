// Runs test/scenarios/policy-conformance.test.ts on vLLM on the CPU, with adapters of the trainer. Not part of `npm test`:
// vLLM is 3.3 GB and starts several times.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { status } = spawnSync(
  join(root, 'node_modules', '.bin', 'vitest'),
  ['run', 'test/scenarios/policy-conformance.test.ts', '--reporter=verbose'],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      COEVOLVE_TEST_POLICY_SERVER: 'vllm',
      TEST_ALL: '1',
    },
  },
);
process.exitCode = status ?? 1;
