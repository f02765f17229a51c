import { trainerCommand } from '../../../src/training/local/trainer-command';

test('one process is the trainer itself, with one thread unless the settings say more', () => {
  const { args, env } = trainerCommand({ epochs: 1 }, '/jobs/j');
  expect(args).toEqual(['-m', 'coevolve_trainer', 'run', '/jobs/j']);
  expect(env['OMP_NUM_THREADS']).toBe('1');
  expect(trainerCommand({ threads: 3 }, '/jobs/j').env['OMP_NUM_THREADS']).toBe('3');
});

test("several processes are started by torch's launcher, each with its threads", () => {
  const { args, env } = trainerCommand({ processes: 4, threads: 2 }, '/jobs/j');
  expect(args.join(' ')).toBe(
    '-m torch.distributed.run --standalone --nproc-per-node 4 -m coevolve_trainer run /jobs/j',
  );
  expect(env['OMP_NUM_THREADS']).toBe('2');
});
