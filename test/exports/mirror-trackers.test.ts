import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { describeOfAll } from '../support/lane';
import { hangTimeoutMs, until } from '../support/stack';
import { childrenOf, follow, stop } from './following-mirror';
import { growingCampaign, point, sorted, type Point } from './growing-campaign';
import { runPython } from './run-python';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

/** Their packages are large: `npm run test:all` installs them. The guarantee for TensorBoard is tested by `npm test`, too. */
describeOfAll('trackers with packages of their own', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-trackers-'));
  let database: FreshDatabase;
  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(() => database.drop());
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Reads the files of a tracker without the code that wrote them; no point before they exist. */
  const read = async (tracker: string, from: string): Promise<Point[]> => {
    const points = await runPython<Point[]>('.venv-trackers', 'read_trackers.py', tracker, from).catch(() => []);
    return points.map(([name, step, value]) => point(name, step, value));
  };

  test.each(['trackio', 'mlflow', 'wandb'] as const)('over kills %s has each point once', async (tracker) => {
    const campaign = await growingCampaign(database.pool);
    const to = path.join(folder, tracker);
    const played = new AbortController();
    const playing = (async () => {
      for (let iteration = 1; !played.signal.aborted; iteration++) {
        await campaign.play(iteration);
        await sleep(200);
      }
    })();
    let program = follow(database, to, tracker);
    for (let kill = 0; kill < 6; kill++) {
      if (kill === 3) {
        played.abort();
        await playing;
        await campaign.finish(); // the last kills hit the end of the run
      }
      await until(async () => childrenOf(program.pid!).length > 0);
      await sleep(Math.random() * 6000);
      for (const child of childrenOf(program.pid!)) process.kill(child, 'SIGKILL');
      program.kill('SIGKILL');
      await once(program, 'exit');
      program = follow(database, to, tracker);
    }
    await until(async () => (await read(tracker, to)).length >= campaign.points.length);
    await stop(program);
    expect(sorted(await read(tracker, to))).toEqual(sorted(campaign.points));
  });
});
