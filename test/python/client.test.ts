import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { runServer, tokens } from '../server/running-server';
import { fullCampaign, ids } from '../store/support/campaign-rows';
import { attempt, type NewCampaign } from '../store/support/new-campaign';
import { freshDatabase } from '../support/database';

const root = path.resolve(__dirname, '../..');
const run = promisify(execFile);
const projectPython = path.join(root, '.venv', 'bin', 'python');

/** Builds the wheel and installs it into a new environment, whose other packages are those of the project. */
async function installWheel(folder: string): Promise<string> {
  const options = ['--quiet', '--no-deps', '--no-build-isolation', '--disable-pip-version-check'];
  await run('cp', ['-r', path.join(root, 'python'), path.join(folder, 'sources')]);
  await run(projectPython, ['-m', 'pip', 'wheel', ...options, '--wheel-dir', folder, path.join(folder, 'sources')]);
  const wheel = readdirSync(folder).find((name) => name.endsWith('-py3-none-any.whl'))!;
  const environment = path.join(folder, 'environment');
  await run(projectPython, ['-m', 'venv', '--without-pip', environment]);
  const python = path.join(environment, 'bin', 'python');
  const target = await packagesOf(python);
  await run(projectPython, ['-m', 'pip', 'install', ...options, '--target', target, path.join(folder, wheel)]);
  writeFileSync(path.join(target, 'project.pth'), await packagesOf(projectPython));
  return python;
}

const packagesOf = async (python: string): Promise<string> =>
  (await run(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'])).stdout.trim();

/** Adds evaluations of both policies at the held-out task, and more attempts than a page has. */
async function playMore({ store, pool, campaignId, key }: NewCampaign): Promise<void> {
  for (const [policyId, reward] of [
    [ids.start, 0],
    [ids.trained, 1],
  ] as const)
    await store.trajectories.save(attempt(key, { purpose: 'evaluation', policyId, taskId: 'held', reward }));
  await pool.query(
    `insert into evaluations (campaign_id, iteration, policy_id, tasks, successes, success_low, success_high, mean_reward,
       epoch)
     values ($1, 0, $2, 1, 0, 0, 0.8, 0, 1)`,
    [campaignId, ids.start],
  );
  await pool.query(`update trajectory_turns set action = $3 where campaign_id = $1 and trajectory_id = $2`, [
    campaignId,
    ids.failed,
    'select 1\u2028, 2',
  ]);
  await pool.query(
    `insert into trajectories (campaign_id, id, iteration, purpose, task_id, policy_id, attempt, epoch, seed, outcome,
       reward, raw_score, stop_reason, opening, turn_count, prompt_tokens, completion_tokens, seconds)
     select campaign_id, id || '/' || n, iteration, purpose, task_id, policy_id, n, epoch, seed, outcome, reward, raw_score,
       stop_reason, opening, turn_count, prompt_tokens, completion_tokens, seconds
     from trajectories, generate_series(100, 1200) n where campaign_id = $1 and id = $2`,
    [campaignId, ids.failed],
  );
}

test('the wheel of the Python package reads and steers campaigns of a running server, and its notebook runs', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-python-'));
  const database = await freshDatabase();
  const campaign = await fullCampaign(database.pool);
  await playMore(campaign);
  const server = await runServer(database.url);
  const finisher = createServer((_, response) => {
    void database.pool
      .query(`update campaigns set status = 'finished', finished_at = now() where id = $1`, [campaign.campaignId])
      .then(() => response.end());
  }).listen(0, '127.0.0.1');
  try {
    await once(finisher, 'listening');
    const home = path.join(folder, 'home');
    mkdirSync(path.join(home, 'secrets'), { recursive: true });
    writeFileSync(path.join(home, 'stack.json'), JSON.stringify({ ports: { api: Number(new URL(server.url).port) } }));
    writeFileSync(path.join(home, 'secrets', 'api-read-token'), `${tokens.read}\n`);
    const { rows } = await database.pool.query<{ count: number }>(
      'select count(*)::integer as count from trajectories',
    );
    const seeded = {
      campaign: campaign.name,
      attempts: rows[0]!.count,
      attempt: ids.failed,
      start: ids.start,
      trained: ids.trained,
      operate: tokens.operate,
      home,
      finish: `http://127.0.0.1:${(finisher.address() as AddressInfo).port}`,
    };
    const python = await installWheel(folder);
    const env = {
      PATH: process.env['PATH'],
      COEVOLVE_URL: server.url,
      COEVOLVE_TOKEN: tokens.read,
      COEVOLVE_TEST: JSON.stringify(seeded),
    };
    const tests = path.join(root, 'python', 'tests');
    const args = ['-m', 'pytest', '-p', 'no:cacheprovider', '--rootdir', folder, tests];
    const { stdout } = await run(python, args, { cwd: folder, env }).catch((error: { stdout: string }) => error);
    expect(stdout).toMatch(/^\d+ passed in /m);

    const notebook = path.join(root, '.venv-notebook', 'bin', 'python');
    const script = [path.join(__dirname, 'execute_notebook.py'), path.join(root, 'python/examples/campaign.ipynb')];
    const folders = [await packagesOf(python), await packagesOf(projectPython)];
    const executed = await run(notebook, script, { env: { ...env, PYTHONPATH: folders.join(path.delimiter) } });
    const outputs = JSON.parse(executed.stdout) as Record<string, string>[][];
    expect(outputs.map((cell) => cell.map((output) => output['text/html']?.includes('<table')))).toEqual(
      Array.from({ length: 6 }, () => [true]),
    );
    expect(outputs[3]![0]!['text/plain']).toContain(`[1/evaluation/${ids.trained.slice(0, 12)}/held/0]`);
  } finally {
    finisher.close();
    await server.close();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 180_000);
