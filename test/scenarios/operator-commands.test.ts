import type { Failure } from '../../src/errors/failure';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { campaignWorkflowId } from '../../src/domain/campaign/ids';
import { completedWords } from '../support/completed-words';
import { describeOfAll, testOfAll } from '../support/lane';
import { bringUpStack, hangTimeoutMs, runCli, until, type TestStack } from '../support/stack';
import { attempts, tasks, tiny, type Spec } from './small-campaigns';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

let stack: TestStack;
beforeAll(async () => {
  stack = await bringUpStack('control');
});
afterAll(() => stack?.remove());

const start = (spec: Spec) => stack.json<{ workflowId: string; outcome: string }>('start', stack.specFile(spec));
const status = (name: string) => stack.status(name);
const firstRow = async <T>(sql: string): Promise<T> => (await stack.pool.query(sql)).rows[0] as T;

const attemptsOf = async (name: string, iteration: number): Promise<number> => {
  const { n } = await firstRow<{ n: number }>(
    `select count(*)::integer as n from trajectories t join campaigns c on c.id = t.campaign_id
     where c.name = '${name}' and t.iteration = ${iteration} and t.purpose = 'train'`,
  );
  return n;
};

/** Returns the number of rows of the main tables. */
const contents = () =>
  firstRow(
    `select (select count(*) from campaigns) as campaigns, (select count(*) from trajectories) as trajectories,
       (select count(*) from phases where finished_at is not null) as phases, (select count(*) from events) as events,
       (select count(*) from pg_class) as relations`,
  );

/** Returns whether a workflow or one of its children has a pending activity or workflow task. */
async function isBusy(workflowId: string): Promise<boolean> {
  const { raw } = await stack.client.workflow.getHandle(workflowId).describe();
  if (raw.pendingWorkflowTask || raw.pendingActivities?.length) return true;
  for (const child of raw.pendingChildren ?? []) if (await isBusy(child.workflowId!).catch(() => true)) return true; // the child has not started yet, or has ended
  return false;
}

/** Returns the number of rows once the campaign has no work; undefined while it has. */
async function contentsWhenIdle(name: string): Promise<unknown> {
  const before = await contents();
  if (await isBusy(campaignWorkflowId(name))) return undefined;
  await sleep(2_000); // a workflow may wait for a timer without a pending task
  const isChanged = JSON.stringify(await contents()) !== JSON.stringify(before);
  return isChanged || (await isBusy(campaignWorkflowId(name))) ? undefined : before;
}

describe('operator commands', () => {
  let trainAgain: () => void;
  beforeAll(async () => {
    await start(tiny('held', 'eto', 3));
    await until(() => attemptsOf('held', 1));
    trainAgain = stack.suspend('worker-train'); // a slow command would find the next iteration
  });

  test('a paused campaign finishes its started activities, starts no others, and can be queried and joined', async () => {
    expect(await stack.json('pause', 'held', '--reason', 'lunch')).toMatchObject({ status: 'paused' });
    trainAgain();
    const before = await until(() => contentsWhenIdle('held'));
    expect(await status('held')).toMatchObject({ status: 'paused', progress: { iteration: 1 } });
    expect(await contents()).toEqual(before);
    expect(await start(tiny('held', 'eto', 3))).toEqual({ workflowId: 'campaign/held', outcome: 'joined' });
    expect(await contents()).toEqual(before);
    const waitsFor = expect.stringMatching(/^paused by .+: lunch$/);
    expect(await stack.json('list', '--attention')).toMatchObject([{ name: 'held', status: 'paused', waitsFor }]);
    expect(await completedWords(stack.config, ['status', 'he'])).toEqual(['held']);
    expect(await completedWords(stack.config, ['init', 'a.yaml', '--environment', 'bf'])).toEqual(['bfcl']);
    expect(await stack.json('status', 'campaign/held')).toMatchObject({ status: 'paused', waitsFor });
    expect(await stack.json('resume', '--all')).toEqual([]); // a paused campaign stays paused
  });

  test('start joins the campaign also after an upgrade that added keys to specs', async () => {
    const older = `update campaigns set spec = spec - 'weight' - 'compute', spec_hash = 'of older keys' where name = 'held'`;
    await stack.pool.query(older);
    expect(await start(tiny('held', 'eto', 3))).toEqual({ workflowId: 'campaign/held', outcome: 'joined' });
    const { stderr } = await stack.cli('start', stack.specFile(tiny('held', 'eto', 2)));
    expect(stderr).toContain('held');
  });

  test('a campaign that is stopped and resumed ends after its current iteration', async () => {
    expect(await stack.json('stop', 'held')).toMatchObject({ status: 'paused', stopping: true });
    expect(await stack.json('resume', 'held')).toMatchObject({ status: 'running' });
    await stack.waitForEnd('held');
    expect(await status('held')).toMatchObject({ status: 'stopped', scores: [{ iteration: 0 }, { iteration: 1 }] });
    expect(await firstRow(`select max(number) as last from iterations`)).toEqual({ last: 1 });
    const events = await stack.pool.query(`select kind, detail ->> 'reason' as reason from events order by id`);
    expect(events.rows).toEqual([
      { kind: 'paused', reason: 'lunch' },
      { kind: 'stopping', reason: null },
      { kind: 'resumed', reason: null },
    ]);
  });

  test('start reports that the campaign has ended and changes nothing', async () => {
    const before = await contents();
    expect(await start(tiny('held', 'eto', 3))).toEqual({ workflowId: 'campaign/held', outcome: 'ended' });
    expect(await contents()).toEqual(before);
  });

  test('a campaign that has ended rejects all commands', async () => {
    for (const command of ['pause', 'resume', 'stop']) {
      const { code, stderr } = await stack.cli(command, 'held');
      expect({ code, stderr }).toEqual({
        code: 4,
        stderr: expect.stringMatching(/^held has ended \(stopped\)[^\n]*\n$/),
      });
    }
  });
});

const exitKinds: Record<number, string> = { 2: 'usage', 3: 'not-found', 4: 'refused' };

describe('a start that cannot succeed', () => {
  test.each([
    {
      label: 'another spec with the name of an existing campaign',
      spec: { ...tiny('held', 'eto', 2) },
      code: 4,
      message:
        'name: "held" is taken by a campaign with another spec: iterations is 3 there, 2 here; choose another name',
    },
    {
      label: 'an unknown environment',
      spec: { ...tiny('nowhere', 'eto', 1), environment: { name: 'atlantis' } },
      code: 2,
      message: 'environment.name: found "atlantis", expected one of bfcl, intercode-sql',
    },
    {
      label: 'synthesis in an environment without a generator',
      spec: { ...tiny('grows', 'combined', 1), environment: { name: 'bfcl' } },
      code: 2,
      message: 'recipe: "combined" synthesizes tasks, and bfcl has no generator',
    },
  ])('is rejected before a row is written: $label', async ({ spec, code: expected, message }) => {
    const before = await contents();
    const { code, stdout, stderr } = await stack.cli('start', stack.specFile(spec), '--json');
    expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringContaining(message) });
    expect(JSON.parse(stdout)).toMatchObject({ error: expect.stringContaining(message), kind: exitKinds[code] });
    expect(await contents()).toEqual(before);
  });
});

describeOfAll('a killed policy server', () => {
  beforeAll(async () => {
    await start(tiny('orphan', 'eto', 1));
    await until(() => attemptsOf('orphan', 1));
    process.kill(stack.pidOf('policy-server'), 'SIGKILL');
  });

  // While the campaign retries for a minute, the other services respond.
  test('is the only failed check of doctor, which names the command that starts it', async () => {
    const failed = await until(async () => {
      const { code, stdout } = await stack.cli('doctor', '--json');
      expect(code).toBe(1);
      const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; next?: string }[] };
      const failures = checks.filter(({ ok }) => !ok);
      return failures.length === 1 && failures; // on a busy machine other checks may time out
    }, 1_000);
    expect(failed).toMatchObject([{ name: 'policy-server', next: expect.stringContaining('coevolve up') }]);
  });

  test.each([
    ['list'],
    ['status', 'held'],
    ['tasks', 'held'],
    ['tasks', 'held', '--split', 'held-out'],
    ['pairs', 'held'],
    ['pairs', 'held', '1'],
    ['report', 'held'],
    ['migrate'],
    ['start', '@spec', '--dry-run'],
    ['trajectory', '@trajectory'],
    ['lineage', '@policy'],
  ])('does not prevent %s %s %s, which prints only JSON with --json', async (...args) => {
    const row = await firstRow<{ policy: string; trajectory: string }>(
      `select p.id as policy, 'held/' || t.id as trajectory from policies p, trajectories t
       where p.role = 'target' and t.purpose = 'evaluation' limit 1`,
    );
    const filled: Record<string, string> = {
      '@trajectory': row.trajectory,
      '@policy': row.policy,
      '@spec': stack.specFile(tiny('held', 'eto', 3)),
    };
    const { code, stdout, stderr } = await stack.cli(...args.map((arg) => filled[arg] ?? arg), '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual(expect.anything());
    const text = await stack.cli(...args.map((arg) => filled[arg] ?? arg));
    expect(text).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/\S[^]*\n$/) });
  });

  test('does not prevent pairs of an iteration without any, which says so', async () => {
    const { stdout, stderr } = await stack.cli('pairs', 'held', '99');
    expect(stdout).toMatch(/^trains +kind[^\n]*\n$/);
    expect(stderr).toBe('iteration 99 of held has no pairs; `npx coevolve status held` shows its phases\n');
  });

  test.each([
    ...['status', 'pause', 'resume', 'stop', 'tasks', 'pairs', 'report'].map((command) => [command, 'missing']),
    ['trajectory', 'missing/1'],
    ['trajectory', 'held/1/no/such'],
    ['trajectory', 'unqualified'],
    ['lineage', 'ffffffffffff'],
    ['lineage', 'ab'],
    ['pairs', 'held', 'last'],
    ['start', 'no-such.yaml'],
  ])('does not change the error of %s %s %s: one line, and one JSON object with --json', async (...args) => {
    const { code, stdout, stderr } = await stack.cli(...args, '--json');
    const failure = JSON.parse(stdout) as Failure;
    expect(failure).toEqual({
      error: stderr.trim(),
      code: expect.any(String),
      kind: exitKinds[code],
      next: failure.next,
    });
    expect(exitKinds[code]).toMatch(/usage|not-found/);
    expect(stderr).toMatch(/^[^\n]{20,}\n$/);
  });

  test('parks the campaign with its address and the next command', async () => {
    const parked = await until(async () => {
      const state = await status('orphan');
      return state.status === 'parked' && state;
    }, 1_000);
    expect(parked.progress).toMatchObject({ iteration: 1, phase: 'rollout' });
    expect(parked.progress.parked).toContain(`no policy server answers at ${stack.config.policy.url}`);
    expect(parked.progress.parked).toContain('coevolve up');
    const followed = await stack.cli('status', 'orphan', '--until-parked', '--json');
    expect(followed).toMatchObject({ code: 5, stderr: expect.stringContaining('`npx coevolve status orphan`') });
    expect(JSON.parse(followed.stdout)).toMatchObject({ kind: 'parked', next: 'npx coevolve status orphan' });
    expect((await stack.cli('status', 'orphan')).stdout).toContain('`npx coevolve resume orphan` retries the phase');
    await until(async () => {
      const campaigns = await stack.json<{ name: string; status: string }[]>('list');
      return campaigns.some((campaign) => campaign.name === 'orphan' && campaign.status === 'parked');
    });
  });

  test('loses no attempt: the resumed campaign finishes with all of them after a restart of the server', async () => {
    await stack.json('up');
    await stack.json('resume', 'orphan');
    await stack.waitForEnd('orphan');
    expect(await status('orphan')).toMatchObject({ status: 'finished', progress: { parked: null } });
    expect(await attemptsOf('orphan', 1)).toBe(tasks.train * attempts);
    expect(await firstRow(`select count(*)::integer as n from trajectories where outcome <> 'scored'`)).toEqual({
      n: 0,
    });
  });
});

testOfAll(
  'a campaign on bfcl parks if no prompt with its functions fits into the rows of the small policy',
  async () => {
    const environment = { name: 'bfcl', options: {}, trainTasks: 4, heldOutTasks: 3, maxTurns: 2 };
    await start({ ...tiny('functions', 'eto', 1), environment });
    const { progress } = await until(async () => {
      const state = await status('functions');
      return state.status === 'parked' && state;
    }, 500);
    expect(progress).toMatchObject({ iteration: 0, phase: 'train' });
    expect(progress.parked).toMatch(/no action token in the first 512 tokens of 4 rows .*a larger max_length/);
    await stack.json('stop', 'functions');
    await stack.waitForEnd('functions');
  },
);

/** File system that is too small for a checkpoint; only root can mount it. */
const disk = mkdtempSync(path.join(tmpdir(), 'coevolve-disk-'));
const mount = (...args: string[]): boolean => spawnSync('mount', [...args, disk]).status === 0;
const isMounted = process.getuid?.() === 0 && mount('-t', 'tmpfs', '-o', 'size=8m', 'coevolve-test');
afterAll(() => {
  if (isMounted) spawnSync('umount', ['-l', disk]);
  rmSync(disk, { recursive: true, force: true });
});

(isMounted ? testOfAll : test.skip)(
  'a full disk parks the campaign, which finishes after space was freed (needs root for a mount)',
  async () => {
    const artifacts = path.join(disk, 'artifacts');
    mkdirSync(artifacts);
    const config = { ...stack.bare, artifacts };
    expect(await runCli(config, ['up', '--json'])).toMatchObject({ code: 0 });
    await start(tiny('small-disk', 'sft', 0));
    const parked = await until(async () => {
      const state = await status('small-disk');
      return state.status === 'parked' && state;
    }, 500);
    expect(parked.progress).toMatchObject({
      phase: 'train',
      parked: expect.stringMatching(/disk-full.*bytes are free/),
    });

    mount('-o', 'remount,size=400m');
    await stack.json('resume', 'small-disk');
    await stack.waitForEnd('small-disk');
    expect(await status('small-disk')).toMatchObject({ status: 'finished', scores: [{ iteration: 0 }] });
  },
);
