import { environmentData, type TaskRecord } from '../../../src/envs/server/environment-data';
import { drawUntilDone } from '../../../src/envs/server/draw-until-done';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { playEpisode, playJournaledEpisode, type ChooseAction } from '../../../src/envs/episode/play-episode';
import type { RecordedTurn } from '../../../src/domain/rollout/turn';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { memoryJournal } from '../../support/deterministic-session';

const hosted = [
  { name: 'bfcl', count: 12, options: {} },
  { name: 'intercode-sql', count: 12, options: {} },
  { name: 'textworld-express', count: 12, options: {} },
  { name: 'scienceworld', count: 2, options: { types: ['find-animal'] } }, // reference actions of other types take up to 25 s
];
const { signal } = new AbortController();
let server: EnvironmentServer;
beforeAll(async () => {
  server = await startEnvironmentServer('--environments', hosted.map(({ name }) => name).join(','));
});
afterAll(() => server.kill());

/** Plays in a separate session. */
async function inSession<T>(name: string, play: (session: Session) => Promise<T>): Promise<T> {
  const session = await openEnvClient(server)(name, { signal });
  return play(session).finally(() => session.close());
}

type Session = Awaited<ReturnType<ReturnType<typeof openEnvClient>>>;

const resetOf = ({ definition, task_id: id }: TaskRecord) => ({ task: definition, seed: 1, episodeId: id });

const gold =
  ({ reference_actions: actions }: TaskRecord, until = Infinity): ChooseAction =>
  (_, step) =>
    step < until ? Promise.resolve(actions[step] ?? null) : Promise.reject(new Error('interrupted'));

/** Plays the first half of the reference actions in a session that is then lost. */
async function halfPlayed(name: string, task: TaskRecord, checks: 'observations' | 'score'): Promise<RecordedTurn[]> {
  const [journal, maxTurns] = [memoryJournal(checks), task.reference_actions.length + 1];
  const middle = Math.floor(task.reference_actions.length / 2);
  const play = inSession(name, (session) =>
    playJournaledEpisode(session, resetOf(task), gold(task, middle), { maxTurns, journal }),
  );
  await expect(play).rejects.toThrow('interrupted');
  expect(journal.turns).toHaveLength(middle);
  return journal.turns;
}

test.each(hosted)('interrupted reference actions of $name are replayed and have reward 1', async (hosting) => {
  const { name, count, options } = hosting;
  const data = environmentData(server);
  const { replay } = await data.capabilities(name);
  expect(replay).not.toBe('none');
  const checks = replay as 'observations' | 'score';
  const tasks = await drawUntilDone(() => data.tasks(name, { split: 'train', count, seed: 3, options }));
  const long = tasks.filter(({ reference_actions: { length } }) => length >= 2 && length <= 60).slice(0, 3);
  expect(long).not.toHaveLength(0);
  for (const task of long) {
    const turns = await halfPlayed(name, task, checks);
    const maxTurns = task.reference_actions.length + 1;
    const whole = await inSession(name, (session) => playEpisode(session, resetOf(task), gold(task), maxTurns));
    const journal = memoryJournal(checks, turns);
    const resumed = await inSession(name, (session) =>
      playJournaledEpisode(session, resetOf(task), gold(task), { maxTurns, journal }),
    );
    expect(resumed).toMatchObject({ reward: 1, stopReason: whole.stopReason });
    expect(resumed.turns.map(({ action }) => action)).toEqual(task.reference_actions.slice(0, resumed.turns.length));
    if (checks === 'observations') expect(resumed).toEqual(whole); // observations included
  }
});

test('a replay can be checked by scores alone if the environment has scores', async () => {
  const name = 'textworld-express';
  const [task] = await environmentData(server).tasks(name, { split: 'train', count: 1, seed: 3, options: {} });
  const turns = await halfPlayed(name, task!, 'score');
  expect(turns.every(({ score, shown }) => score !== null && shown !== null)).toBe(true);
  const resume = (recorded: RecordedTurn[]) =>
    inSession(name, (session) =>
      playJournaledEpisode(session, resetOf(task!), gold(task!), {
        maxTurns: task!.reference_actions.length + 1,
        journal: memoryJournal('score', recorded),
      }),
    );
  await expect(resume(turns)).resolves.toMatchObject({ reward: 1 });
  const changed = turns.map((turn, index) => (index === 1 ? { ...turn, score: 0.123 } : turn));
  await expect(resume(changed)).rejects.toMatchObject({ name: 'ReplayMismatch', turn: 2 });
});
