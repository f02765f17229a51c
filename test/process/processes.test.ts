import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isAlive, startTimeOf, stopProcess } from '../../src/process/processes';

test('a process that ignores the signal and leads no group is killed after its grace', async () => {
  const child = spawn('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done']);
  await once(child.stdout, 'data');
  const record = { pid: child.pid!, startTime: startTimeOf(child.pid!)!, fingerprint: '' };
  expect(await stopProcess(record, 'SIGTERM', 100)).toBe(true);
  expect(isAlive(record)).toBe(false);
});
