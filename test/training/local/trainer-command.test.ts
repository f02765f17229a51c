import { trainerCommand } from '../../../src/training/local/trainer-command';

test('a job of one process runs the trainer directly, by default with one thread', () => {
  const { args, env } = trainerCommand({ epochs: 1 }, '/jobs/j');
  expect(args).toEqual(['-m', 'coevolve_trainer', 'run', '/jobs/j']);
  expect(env['OMP_NUM_THREADS']).toBe('1');
  expect(trainerCommand({ threads: 3 }, '/jobs/j').env['OMP_NUM_THREADS']).toBe('3');
});

test("torch's launcher starts several processes, each with the given threads", () => {
  const { args, env } = trainerCommand({ processes: 4, threads: 2 }, '/jobs/j');
  expect(args.join(' ')).toBe(
    '-m torch.distributed.run --standalone --nproc-per-node 4 -m coevolve_trainer run /jobs/j',
  );
  expect(env['OMP_NUM_THREADS']).toBe('2');
});
