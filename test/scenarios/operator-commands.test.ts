import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bringUpStack, runCli, until, type TestStack } from '../support/stack';
import { attempts, tasks, tiny, type Spec } from './small-campaigns';

let stack: TestStack;
beforeAll(async () => {
  stack = await bringUpStack('control');
}, 300_000);
afterAll(() => stack?.remove(), 60_000);

const start = (spec: Spec) => stack.json<{ workflowId: string; outcome: string }>('start', stack.specFile(spec));
const status = (name: string) => stack.status(name);
const one = async <T>(sql: string): Promise<T> => (await stack.pool.query(sql)).rows[0] as T;

const attemptsOf = async (name: string, iteration: number): Promise<number> => {
  const { n } = await one<{ n: number }>(
    `select count(*)::integer as n from trajectories t join campaigns c on c.id = t.campaign_id
     where c.name = '${name}' and t.iteration = ${iteration} and t.purpose = 'train'`,
  );
  return n;
};

/** Everything that the database holds, as counts. */
const contents = () =>
  one(
    `select (select count(*) from campaigns) as campaigns, (select count(*) from trajectories) as trajectories,
       (select count(*) from phases where finished_at is not null) as phases, (select count(*) from events) as events,
       (select count(*) from pg_class) as relations`,
  );

const inFlight = async (name: string): Promise<number> => {
  let activities = 0;
  const running = `CampaignName = "${name}" and ExecutionStatus = "Running"`;
  for await (const { workflowId } of stack.client.workflow.list({ query: running })) {
    const { raw } = await stack.client.workflow.getHandle(workflowId).describe();
    activities += raw.pendingActivities?.length ?? 0;
  }
  return activities;
};

/** What the database holds once nothing is at work: a running campaign always has an activity in flight or a new row. */
async function quiet(): Promise<unknown> {
  const before = await contents();
  await sleep(4_000); // longer than a workflow task waits on a busy machine
  const changed = JSON.stringify(await contents()) !== JSON.stringify(before);
  return changed || (await inFlight('held')) > 0 ? undefined : before;
}

describe('an operator', () => {
  beforeAll(async () => {
    await start(tiny('held', 'eto', 3));
    await until(() => attemptsOf('held', 1));
  }, 300_000);

  test('pauses a campaign: what is in flight ends, nothing else begins, it answers and can be joined', async () => {
    expect(await stack.json('pause', 'held', '--reason', 'lunch')).toMatchObject({ status: 'paused' });
    const before = await until(quiet);
    expect(await status('held')).toMatchObject({ status: 'paused', progress: { iteration: 1 } });
    expect(await contents()).toEqual(before);
    expect(await start(tiny('held', 'eto', 3))).toEqual({ workflowId: 'campaign/held', outcome: 'joined' });
    expect(await contents()).toEqual(before);
    expect(await stack.json('list')).toMatchObject([{ name: 'held', status: 'paused' }]);
  });

  test('joins it after an upgrade too, which gave specs keys that the stored one does not have', async () => {
    const older = `update campaigns set spec = spec - 'weight' - 'compute', spec_hash = 'of older keys' where name = 'held'`;
    await stack.pool.query(older);
    expect(await start(tiny('held', 'eto', 3))).toEqual({ workflowId: 'campaign/held', outcome: 'joined' });
    const { stderr } = await stack.cli('start', stack.specFile(tiny('held', 'eto', 2)));
    expect(stderr).toContain('held');
  });

  test('tells it to stop and resumes it: it ends after the iteration that it is in', async () => {
    expect(await stack.json('stop', 'held')).toMatchObject({ status: 'paused', stopping: true });
    expect(await stack.json('resume', 'held')).toMatchObject({ status: 'running' });
    await stack.cli('status', 'held', '--watch');
    expect(await status('held')).toMatchObject({ status: 'stopped', scores: [{ iteration: 0 }, { iteration: 1 }] });
    expect(await one(`select max(number) as last from iterations`)).toEqual({ last: 1 });
    const events = await stack.pool.query(`select kind, detail ->> 'reason' as reason from events order by id`);
    expect(events.rows).toEqual([
      { kind: 'paused', reason: 'lunch' },
      { kind: 'stopping', reason: null },
      { kind: 'resumed', reason: null },
    ]);
  }, 300_000);

  test('starts it again and is told that it has ended; nothing changes', async () => {
    const before = await contents();
    expect(await start(tiny('held', 'eto', 3))).toEqual({ workflowId: 'campaign/held', outcome: 'ended' });
    expect(await contents()).toEqual(before);
  });

  test('cannot order a campaign that has ended', async () => {
    for (const verb of ['pause', 'resume', 'stop']) {
      const { code, stderr } = await stack.cli(verb, 'held');
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^held has ended \(stopped\)[^\n]*\n$/),
      });
    }
  });
});

describe('before a row is written', () => {
  test.each([
    {
      what: 'another spec under a name that is taken',
      spec: { ...tiny('held', 'eto', 2) },
      says: 'name: "held" is taken',
    },
    {
      what: 'an environment that does not exist',
      spec: { ...tiny('nowhere', 'eto', 1), environment: { name: 'atlantis' } },
      says: 'environment.name: found "atlantis", expected one of bfcl, intercode-sql',
    },
    {
      what: 'synthesis where nothing can be generated',
      spec: { ...tiny('grows', 'combined', 1), environment: { name: 'bfcl' } },
      says: 'recipe: "combined" synthesizes tasks, and bfcl has no generator',
    },
  ])('$what is refused by name', async ({ spec, says }) => {
    const before = await contents();
    const { code, stdout, stderr } = await stack.cli('start', stack.specFile(spec), '--json');
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(says) });
    expect(await contents()).toEqual(before);
  });
});

describe('a policy server that is killed', () => {
  beforeAll(async () => {
    await start(tiny('orphan', 'eto', 1));
    await until(() => attemptsOf('orphan', 1));
    process.kill(stack.pidOf('policy-server'), 'SIGKILL');
  }, 300_000);

  // While the campaign tries for a minute, the rest of the service answers.
  test('doctor says so, and what to do', async () => {
    const { code, stdout } = await stack.cli('doctor', '--json');
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; next?: string }[] };
    expect(code).toBe(1);
    expect(checks.filter(({ ok }) => !ok)).toMatchObject([
      { name: 'policy-server', next: expect.stringContaining('coevolve up') },
    ]);
  });

  test.each([
    ...[['list'], ['status', 'held'], ['tasks', 'held'], ['tasks', 'held', '--split', 'held-out'], ['pairs', 'held']],
    ...[['pairs', 'held', '1'], ['report', 'held'], ['migrate'], ['start', '@spec', '--dry-run']],
    ...[
      ['trajectory', '@trajectory'],
      ['lineage', '@policy'],
    ],
  ])('%s %s %s --json prints JSON and nothing else', async (...args) => {
    const row = await one<{ policy: string; trajectory: string }>(
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

  test.each([
    ...['status', 'pause', 'resume', 'stop', 'tasks', 'pairs', 'report'].map((verb) => [verb, 'nobody']),
    ...[
      ['trajectory', 'nobody/1'],
      ['trajectory', 'held/1/no/such'],
      ['trajectory', 'unqualified'],
    ],
    ...[
      ['lineage', 'ffffffffffff'],
      ['lineage', 'ab'],
      ['pairs', 'held', 'last'],
      ['start', 'no-such.yaml'],
    ],
  ])('%s %s %s ends with one clear line and exit code 1', async (...args) => {
    const { code, stdout, stderr } = await stack.cli(...args, '--json');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]{20,}\n$/);
  });

  test('parks the campaign with the endpoint and the next command', async () => {
    const parked = await until(async () => {
      const state = await status('orphan');
      return state.status === 'parked' && state;
    }, 1_000);
    expect(parked.progress).toMatchObject({ iteration: 1, phase: 'rollout' });
    expect(parked.progress.parked).toContain(`no policy server answers at ${stack.config.policy.url}`);
    expect(parked.progress.parked).toContain('coevolve up');
    expect((await stack.cli('status', 'orphan')).stdout).toContain('`coevolve resume orphan` retries the phase');
    await until(async () => {
      const campaigns = await stack.json<{ name: string; status: string }[]>('list');
      return campaigns.some(({ name, status: told }) => name === 'orphan' && told === 'parked');
    });
  }, 300_000);

  test('loses nothing: brought up and resumed, the campaign finishes with every attempt', async () => {
    await stack.json('up');
    await stack.json('resume', 'orphan');
    await stack.cli('status', 'orphan', '--watch');
    expect(await status('orphan')).toMatchObject({ status: 'finished', progress: { parked: null } });
    expect(await attemptsOf('orphan', 1)).toBe(tasks.train * attempts);
    expect(await one(`select count(*)::integer as n from trajectories where outcome <> 'scored'`)).toEqual({ n: 0 });
  }, 300_000);
});

test('bfcl, whose prompts are longer than the small policy reads, goes the whole way', async () => {
  const environment = { name: 'bfcl', options: {}, trainTasks: 4, heldOutTasks: 3, maxTurns: 2 };
  await start({ ...tiny('functions', 'eto', 1), environment });
  await stack.cli('status', 'functions', '--watch');
  expect(await status('functions')).toMatchObject({ status: 'finished' });
  expect(await attemptsOf('functions', 1)).toBe(4 * attempts);
}, 300_000);

/** A file system that is too small for a checkpoint; only root can mount one. */
const disk = mkdtempSync(path.join(tmpdir(), 'coevolve-disk-'));
const mount = (...args: string[]): boolean => spawnSync('mount', [...args, disk]).status === 0;
const isMounted = process.getuid?.() === 0 && mount('-t', 'tmpfs', '-o', 'size=8m', 'coevolve-test');
afterAll(() => {
  if (isMounted) spawnSync('umount', ['-l', disk]);
  rmSync(disk, { recursive: true, force: true });
});

(isMounted ? test : test.skip)(
  'a full disk (a small one, which only root can mount) parks the campaign; with room made, it finishes',
  async () => {
    const artifacts = path.join(disk, 'artifacts');
    mkdirSync(artifacts);
    const config = { ...stack.bare, artifacts };
    expect(await runCli(config, ['up', '--json'])).toMatchObject({ code: 0 });
    await start(tiny('cramped', 'sft', 0));
    const parked = await until(async () => {
      const state = await status('cramped');
      return state.status === 'parked' && state;
    }, 500);
    expect(parked.progress).toMatchObject({
      phase: 'train',
      parked: expect.stringMatching(/disk-full.*bytes are free/),
    });

    mount('-o', 'remount,size=400m');
    await stack.json('resume', 'cramped');
    await stack.cli('status', 'cramped', '--watch');
    expect(await status('cramped')).toMatchObject({ status: 'finished', scores: [{ iteration: 0 }] });
  },
  300_000,
);
