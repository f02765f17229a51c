import { readFileSync } from 'node:fs';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { listCommands } from '../../src/process/list-processes';
import { bringUpStack, until, type TestStack } from '../support/stack';
import { tiny, type Spec } from './small-campaigns';

let stack: TestStack;
beforeAll(async () => {
  stack = await bringUpStack('abort');
}, 300_000);
afterAll(() => stack?.remove(), 60_000);

const start = (spec: Spec) => stack.json('start', stack.specFile(spec));
const status = (name: string) => stack.status(name);
const trainersOf = (name: string): string[] =>
  listCommands()
    .map(({ command }) => command)
    .filter((command) => command.includes('coevolve_trainer') && command.includes(`jobs/campaign/${name}/`));
const one = async <T>(sql: string, name: string): Promise<T> => (await stack.pool.query(sql, [name])).rows[0] as T;

const attemptsOf = async (name: string): Promise<number> => {
  const sql = `select count(*)::integer as n from trajectories t join campaigns c on c.id = t.campaign_id
    where c.name = $1 and t.iteration = 1 and t.purpose = 'train'`;
  return (await one<{ n: number }>(sql, name)).n;
};

/** Sessions of a campaign at the environment server. */
async function sessionsOf(name: string): Promise<unknown[]> {
  const { url, tokenFile } = stack.config.environment;
  const { holder } = await one<{ holder: string }>(
    `select 'campaign/' || id as holder from campaigns where name = $1`,
    name,
  );
  const authorization = `Bearer ${readFileSync(tokenFile!, 'utf8').trim()}`;
  const response = await fetch(`${url}/leases`, { headers: { authorization } });
  const { leases } = (await response.json()) as { leases: { holder: string | null }[] };
  return leases.filter((lease) => lease.holder === holder);
}

/** All that a campaign has at work or holds; nothing of it may be left when an abort returns. */
const heldBy = async (name: string) => ({
  trainers: trainersOf(name),
  sessions: await sessionsOf(name),
  ...(await one<object>(
    `select
       (select count(*)::integer from turn_journal t where t.campaign_id = c.id) as turns,
       (select count(*)::integer from model_requests t where t.campaign_id = c.id and t.outcome is null) as tries,
       (select count(*)::integer from ledger r where r.campaign_id = c.id and r.entry = 'reserve' and not exists (
         select from ledger l where l.campaign_id = r.campaign_id and l.key = r.key and l.unit = r.unit
           and l.entry <> 'reserve')) as reservations
     from campaigns c where c.name = $1`,
    name,
  )),
});
const nothing = { trainers: [], sessions: [], turns: 0, tries: 0, reservations: 0 };

async function expectAborted(name: string): Promise<void> {
  expect(await heldBy(name)).toEqual(nothing);
  expect(await status(name)).toMatchObject({ status: 'aborted', abortedBy: expect.any(String) });
  expect((await stack.cli('status', name)).stdout).toContain(`${name}: aborted`);
  const row = await one(
    `select status, finished_at is not null as ended, (select max(kind) from events e where e.campaign_id = c.id) as event
     from campaigns c where name = $1`,
    name,
  );
  expect(row).toMatchObject({ status: 'aborted', ended: true });
  expect(readFileSync(artifactStore(stack.config.artifacts).reportPath(name), 'utf8')).toContain('aborted');
  const running = `CampaignName = "${name}" and ExecutionStatus = "Running"`;
  await until(async () => (await stack.client.workflow.count(running)).count === 0);
}

/** A start that trains for minutes. */
const studious: Spec = {
  ...tiny('studious', 'eto', 1),
  training: { ...(tiny('studious', 'eto', 1)['training'] as object), sft: { epochs: 1000 } },
};

test('at a rollout: sessions and journal are gone, and whoever ordered it is on record', async () => {
  await start(tiny('playing', 'eto', 2));
  await start({ ...tiny('gated', 'eto', 2), promotion: { rule: 'always', approval: true } });
  await until(() => attemptsOf('playing'));
  await stack.cli('abort', 'playing', '--reason', 'wrong seed');
  await expectAborted('playing');
  const events = await stack.pool.query(
    `select kind, detail ->> 'reason' as reason from events e join campaigns c on c.id = e.campaign_id
     where c.name = 'playing' order by e.id`,
  );
  expect(events.rows).toEqual([{ kind: 'aborting', reason: 'wrong seed' }]);
}, 300_000);

test('it is safe to repeat, and no other order applies any more', async () => {
  expect(await stack.json('abort', 'playing')).toMatchObject({ name: 'playing', status: 'aborted' });
  for (const verb of ['pause', 'resume', 'retry', 'skip', 'stop']) {
    const { code, stderr } = await stack.cli(verb, 'playing');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^playing has ended \(aborted\)[^\n]*\n$/),
    });
  }
});

test('at training, while the worker that could end the trainer is dead: it is waited for, and no trainer is left', async () => {
  await start(studious);
  await until(() => Promise.resolve(trainersOf('studious').some((command) => command.includes('/train/target'))));
  process.kill(stack.pidOf('worker-train'), 'SIGKILL');
  const aborting = stack.cli('abort', 'studious');
  await until(async () => (await status('studious')).abortedBy !== undefined);
  expect(trainersOf('studious')).not.toEqual([]);
  await stack.json('up', '--unsupervised');
  expect(await aborting).toMatchObject({ code: 0, stdout: 'studious: aborted\n' });
  await expectAborted('studious');
}, 300_000);

test('parked for the approval of a promotion, which is given, or not: --keep keeps who acts', async () => {
  const parked = async (iteration: number) =>
    until(async () => {
      const state = await status('gated');
      return state.status === 'parked' && state.progress.iteration === iteration && state;
    }, 500);
  const { progress } = await parked(1);
  expect(progress).toMatchObject({
    phase: 'evaluate',
    parked: expect.stringContaining('coevolve approve gated --keep'),
  });
  expect((await stack.cli('status', 'gated')).stdout).toContain('`coevolve skip gated` goes on without evaluate');
  expect(await stack.json('approve', 'gated', '--keep')).toMatchObject({ status: 'running' });
  await parked(2);
  const { rows } = await stack.pool.query(`select iteration, decision, reason from promotions p
    join campaigns c on c.id = p.campaign_id where c.name = 'gated' and p.role = 'target' and p.iteration > 0`);
  expect(rows).toEqual([{ iteration: 1, decision: 'keep', reason: expect.stringContaining('kept the incumbent') }]);
}, 300_000);

test('paused while it is parked, it is aborted all the same', async () => {
  expect(await stack.json('pause', 'gated')).toMatchObject({ status: 'paused' });
  expect(await stack.json('abort', 'gated')).toMatchObject({ status: 'aborted' });
  await expectAborted('gated');
}, 120_000);
