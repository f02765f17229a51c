import { ApplicationFailure } from '@temporalio/common';
import type { SynthesisAim } from '../../../src/domain/campaign/recipe';
import { resolveSpec } from '../../../src/specification/read-spec';
import { planOf } from '../../../src/specification/iteration-plan';
import { until } from '../../support/stack';
import { provider, scriptedActivities } from '../scripted-activities';
import { scriptedCampaigns, type Plan, type ScriptedCampaigns } from '../scripted-campaigns';

let campaigns: ScriptedCampaigns;
beforeAll(async () => {
  campaigns = await scriptedCampaigns();
});
afterAll(() => campaigns?.remove());

/** Failure of an activity: a message for operators with the error of a library as its cause. */
const failure = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ message, type: 'TestFailure', nonRetryable: true, cause: new Error('ECONNREFUSED') });
const resume = (name: string) => campaigns.send(name, 'resume');
const parked = (name: string) => campaigns.parked(name);

const detailsOf = async (workflowId: string): Promise<string> => {
  const handle = campaigns.client.workflow.getHandle(workflowId);
  return (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
};

/** Only the supervised start. */
const start: Plan = { recipe: 'eto', iterations: 0 };

const run: ScriptedCampaigns['run'] = async (...args) => {
  const state = await campaigns.run(...args);
  expect(state.status).toBe('finished');
  return state;
};

test('a committed phase is not run again', async () => {
  const script = scriptedActivities('committed', {
    beginPhase: ({ phase }) => Promise.resolve(['plan', 'rollout'].includes(phase)),
  });
  await run('committed', start, script);
  expect(script.callsOf('planIteration')).toEqual([]);
  expect(script.callsOf('collectRollouts').map(({ purpose }) => purpose)).toEqual([
    'evaluation',
    'evaluation',
    'test',
    'test',
  ]);
  expect(script.callsOf('submitTraining')).toHaveLength(2);
});

test('a failed phase parks the campaign with the reason, and a resume retries only this phase', async () => {
  let attempts = 0;
  const script = scriptedActivities('parks', {
    evaluatePolicy: () => (attempts++ < 2 ? Promise.reject(failure('evaluate failed')) : Promise.resolve({ score: 1 })),
  });
  await run('parks', start, script, async () => {
    for (const count of [1, 2]) {
      expect(await parked('parks')).toMatchObject({
        progress: { phase: 'evaluate', parked: 'evaluate failed', parkedCode: 'Unexpected' },
      });
      await until(() => Promise.resolve(script.callsOf('recordOperatorCommand').filter(isParking).length === count));
      await resume('parks');
    }
  });
  expect(attempts).toBe(3);
  const committed = script.callsOf('commitPhase').map(({ phase }) => phase);
  expect(committed).toEqual(['plan', 'rollout', 'train', 'evaluate', 'report']);
});

test('a stop of a parked campaign ends it at once, even in its last iteration', async () => {
  const script = scriptedActivities('given-up', { detectSignals: () => Promise.reject(failure('detect failed')) });
  const state = await campaigns.run('given-up', { recipe: 'eto', iterations: 1 }, script, async () => {
    await parked('given-up');
    await campaigns.send('given-up', 'stop');
  });
  expect(state).toMatchObject({
    status: 'stopped',
    scores: [{ iteration: 0 }],
    progress: { iteration: 1, phase: 'detect', parked: null },
  });
  expect(script.callsOf('closeCampaign')).toEqual([{ campaignId: 1, status: 'stopped' }]);
  expect(script.callsOf('writeReport')).toHaveLength(1); // of iteration 0
});

const isParking = ({ kind, status, actor, reason }: Record<string, unknown>): boolean =>
  kind === 'parked' && status === 'parked' && actor === 'coevolve' && reason === 'evaluate failed';

test('a parked campaign is found by its search attribute and shows its reason', async () => {
  let isRepaired = false;
  const script = scriptedActivities('found', {
    planIteration: () => (isRepaired ? Promise.resolve() : Promise.reject(failure('plan failed'))),
  });
  await run('found', start, script, async () => {
    await until(async () => {
      const query = 'NeedsAttention = true and CampaignName = "found"';
      return (await campaigns.client.workflow.count(query)).count === 1;
    });
    for (const id of ['campaign/found', 'campaign/found/iteration/0'])
      expect(await detailsOf(id)).toContain('Needs attention: ` plan failed `');
    isRepaired = true;
    await resume('found');
  });
});

test('if one of two concurrent jobs fails, the other one completes and is not repeated', async () => {
  const ends: string[] = [];
  let fails = true;
  const script = scriptedActivities('two-jobs', {
    async watchTraining({ jobKey }) {
      const role = jobKey.split('/').pop()!;
      if (role === 'failure' && fails) throw failure('train failed');
      // The successful job still runs when the other one has failed.
      if (role === 'target') await until(() => childFailed('two-jobs', 'train/failure'));
      ends.push(jobKey);
      return { policyId: role.padEnd(64, '0'), seconds: 1 };
    },
  });
  await run('two-jobs', { recipe: 'co-evolving-agents', iterations: 0 }, script, async () => {
    await parked('two-jobs');
    expect(ends).toContain('campaign/two-jobs/iteration/0/train/target');
    fails = false;
    await resume('two-jobs');
  });
  const submitted = script
    .callsOf('submitTraining')
    .map(({ jobKey }) => String(jobKey).slice('campaign/two-jobs/'.length));
  expect(submitted.filter((key) => key === 'iteration/0/train/failure')).toHaveLength(2);
  expect(submitted.filter((key) => key === 'iteration/0/train/target')).toHaveLength(1);
});

test('a fork first trains what its source left out in the last iteration, under the key of that iteration', async () => {
  const failureAgent = { role: 'failure', method: 'dpo', data: 'pairs', from: 'active' } as const;
  const spec = resolveSpec({ name: 'goes-on', seed: 1, environment: { name: 'x' }, recipe: 'combined' }, 'fork');
  const script = scriptedActivities('goes-on', {
    openIteration: ({ iteration }) =>
      Promise.resolve({
        epoch: 3,
        ...planOf({ ...spec, iterations: 2 }, iteration),
        overdue: { iteration: 1, epoch: 2, training: [failureAgent] },
      }),
  });
  await run('goes-on', { recipe: 'combined', iterations: 2, from: 2 }, script);
  const jobs = script.callsOf('prepareTraining').map(({ iteration, epoch, role }) => [iteration, epoch, role]);
  expect(jobs).toEqual([
    [1, 2, 'failure'],
    [2, 3, 'target'],
  ]);
  const order = script.calls.map(({ name }) => name);
  expect(order.indexOf('registerPolicy')).toBeLessThan(order.indexOf('planIteration'));
});

test('if one of two concurrent rollouts fails, only this rollout is retried', async () => {
  let fails = true;
  const script = scriptedActivities('two-agents', {
    collectRollouts: ({ policyId, purpose }) =>
      fails && purpose === 'train' && policyId?.startsWith('failure')
        ? Promise.reject(failure('rollout failed'))
        : Promise.resolve({ attempts: 1, reused: 0 }),
  });
  await run('two-agents', { recipe: 'co-evolving-agents', iterations: 1 }, script, async () => {
    await parked('two-agents');
    fails = false;
    await resume('two-agents');
  });
  const played = script.callsOf('collectRollouts').filter(({ purpose }) => purpose === 'train');
  expect(played.filter(({ policyId }) => String(policyId).startsWith('target'))).toHaveLength(2); // two tasks, once
});

const childFailed = async (name: string, child: string): Promise<boolean> => {
  const query = `WorkflowId = "campaign/${name}/iteration/0/${child}" and ExecutionStatus = "Failed"`;
  return (await campaigns.client.workflow.count(query)).count === 1;
};

test('without training data no policy is registered', async () => {
  const script = scriptedActivities('no-data', {
    prepareTraining: ({ iteration, role }) =>
      Promise.resolve(iteration === 1 ? null : { jobKey: `campaign/no-data/iteration/0/train/${role}`, rows: 1 }),
  });
  await run('no-data', { recipe: 'eto', iterations: 1 }, script);
  expect(script.callsOf('registerPolicy').map(({ iteration, role }) => [iteration, role])).toEqual([
    [0, 'base'],
    [0, 'target'],
  ]);
});

test('a long rollout of 0.1.0 is split into consecutive shards of 200 activities, and each range of tasks is played once', async () => {
  const ranges = await rangesOfEvaluation('shards', { to: 603, tasksPerActivity: 3 });
  const sorted = ranges.map(({ from, to }) => [Number(from), Number(to)]).sort(([a], [b]) => a! - b!);
  expect(sorted).toEqual(Array.from({ length: 201 }, (_, n) => [3 * n, 3 * n + 3]));
  expect(ranges.at(-1)).toMatchObject({ from: 600 }); // the second shard starts after the end of the first
});

test('the shards of a long rollout run at once, with smaller activities at its end, and each range is played once', async () => {
  const ranges = await rangesOfEvaluation('queue', { to: 2000, tasksPerActivity: 8, fewestTasks: 2 });
  const sorted = ranges.toSorted((a, b) => Number(a['from']) - Number(b['from']));
  expect(sorted.map(({ from }) => from)).toEqual([0, ...sorted.slice(0, -1).map(({ to }) => to)]);
  const counts = sorted.map(({ from, to }) => Number(to) - Number(from));
  expect([counts[0], counts.at(-2), sorted.at(-1)!['to']]).toEqual([8, 2, 2000]);
});

/** Returns the ranges of the activities of an evaluation with activities of these sizes, in the order of their starts. */
async function rangesOfEvaluation(
  name: string,
  { to, ...sizes }: { to: number; tasksPerActivity: number; fewestTasks?: number },
): Promise<Record<string, unknown>[]> {
  const script = scriptedActivities(name, {
    choosePolicies: ({ roles, purpose }) => {
      const evaluation = { range: { from: 0, to }, ...sizes };
      const played = purpose === 'evaluation' ? evaluation : { range: { from: 0, to: 1 }, tasksPerActivity: 1 };
      return Promise.resolve(roles.map((role) => ({ role, policyId: role.padEnd(64, '0'), ...played })));
    },
  });
  await run(name, start, script);
  return script.callsOf('collectRollouts').filter(({ purpose }) => purpose === 'evaluation');
}

const llm = {
  llm: { models: { explorer: { provider, model: 'm', price: { inputPerMillion: 1, outputPerMillion: 2 } } } },
};
const rl = { rollouts: { stepsPerIteration: 3 } };

test('an RL iteration plays and updates F times, with a separate rollout per step, before it synthesizes', async () => {
  const script = scriptedActivities('steps', {}, rl);
  await run('steps', { recipe: 'coevolve', iterations: 1 }, script);
  const order = script.calls
    .filter(
      ({ name, input }) => input['iteration'] === 1 && ['prepareStep', 'trainStep', 'registerStep'].includes(name),
    )
    .map(({ name, input }) => `${name} ${String(input['step'])}`);
  expect(script.callsOf('prepareStep').map(({ step }) => step)).toEqual([1, 2, 3]);
  expect(order.filter((call) => call.startsWith('registerStep'))).toEqual([
    'registerStep 1',
    'registerStep 2',
    'registerStep 3',
  ]);
  expect(
    script
      .callsOf('collectRollouts')
      .filter(({ purpose }) => purpose === 'train')
      .map(({ step }) => step),
  ).toEqual([1, 1, 2, 2, 3, 3]);
  const phases = script.callsOf('commitPhase').map(({ iteration, phase }) => `${String(iteration)} ${String(phase)}`);
  expect(phases).toEqual([
    '0 plan',
    '0 rollout',
    '0 synthesize',
    '0 validate',
    '0 train',
    '0 evaluate',
    '0 report',
    '1 plan',
    '1 optimize',
    '1 detect',
    '1 synthesize',
    '1 validate',
    '1 evaluate',
    '1 report',
  ]);
});

test('agents whose models the policy server holds only one at a time play one after the other', async () => {
  const playing: string[] = [];
  let together = 0;
  const script = scriptedActivities('in-turn', {
    choosePolicies: ({ roles }) =>
      Promise.resolve(
        roles.map((role) => ({
          role,
          policyId: role.padEnd(64, '0'),
          range: { from: 0, to: 3 },
          tasksPerActivity: 1,
          inTurn: true as const,
        })),
      ),
    collectRollouts: async ({ policyId }) => {
      playing.push(policyId!);
      together = Math.max(together, new Set(playing).size);
      await new Promise((resolve) => setTimeout(resolve, 20));
      playing.splice(playing.indexOf(policyId!), 1);
      return { attempts: 1, reused: 0 };
    },
  });
  await run('in-turn', start, script);
  expect(new Set(script.callsOf('collectRollouts').map(({ policyId }) => policyId)).size).toBeGreaterThan(1);
  expect(together).toBe(1);
});

test('while too few tasks are admitted for a match, more are synthesized, validated and admitted', async () => {
  const refilled = (spec: Record<string, unknown>, name: string) => {
    const admitTasks = ({ iteration, refill = 0 }: { iteration: number; refill?: number }) =>
      Promise.resolve<SynthesisAim[]>(iteration === 1 && refill < 2 ? ['rare'] : []);
    const planExploration = ({ refill = 0 }: { refill?: number }) =>
      Promise.resolve({ contexts: 2 + refill, ...(refill > 0 && { first: 1 + refill }) });
    const countPlanned = ({ refill = 0 }: { refill?: number }) =>
      Promise.resolve({ tasks: 5 * (refill + 1), tasksPerActivity: 100, ...(refill > 0 && { earlier: 5 * refill }) });
    return scriptedActivities(name, { admitTasks, planExploration, countPlanned }, spec);
  };
  const offline = refilled(rl, 'matched');
  await run('matched', { recipe: 'coevolve', iterations: 1 }, offline);
  const ofGrowth = (calls: readonly Record<string, unknown>[]) => calls.filter(({ iteration }) => iteration === 1);
  const asked = ofGrowth(offline.callsOf('synthesizeTasks')).map(
    ({ aim, refill }) => `${String(refill)} ${String(aim)}`,
  );
  expect(asked.sort()).toEqual(['0 boundary', '0 forgetting', '0 rare', '1 rare', '2 rare']);
  expect(ofGrowth(offline.callsOf('planValidation')).map(({ refill }) => refill)).toEqual([0, 1, 2]);
  const validated = ofGrowth(offline.callsOf('collectRollouts')).filter(({ purpose }) => purpose === 'validation');
  expect(validated.map(({ from, to }) => [from, to])).toEqual([
    [0, 5],
    [5, 10],
    [10, 15],
  ]);

  const online = refilled({ ...rl, ...llm, synthesis: { exploration: { rounds: 1 } } }, 'explored');
  await run('explored', { recipe: 'coevolve', iterations: 1 }, online);
  const contexts = online.callsOf('abstractTasks').map(({ contextId }) => String(contextId));
  expect(contexts.filter((id) => id.startsWith('1/rare/')).sort()).toEqual([
    '1/rare/0',
    '1/rare/1',
    '1/rare/2',
    '1/rare/3', // each once
  ]);
  const judged = ofGrowth(online.callsOf('judgeCandidates')).map(({ from, to }) => [from, to]);
  expect(judged).toEqual([
    [0, 5],
    [5, 10],
    [10, 15],
  ]);
});

test('without a language model the generator synthesizes tasks, with one contexts are explored and judged', async () => {
  const offline = scriptedActivities('offline', {}, { ...rl, synthesis: { aims: 'random' } });
  await run('offline', { recipe: 'coevolve', iterations: 1 }, offline);
  expect(offline.callsOf('synthesizeTasks').map(({ iteration, aim }) => [iteration, aim])).toEqual([
    [0, 'random'],
    [1, 'random'],
  ]);
  expect([...offline.callsOf('explore'), ...offline.callsOf('judgeCandidates')]).toEqual([]);

  const shown: string[] = [];
  const admitTasks = async ({ iteration }: { iteration: number }): Promise<null> => {
    if (iteration === 1) shown.push(await detailsOf('campaign/online/iteration/1'));
    return null;
  };
  const spec = { ...rl, ...llm, synthesis: { exploration: { rounds: 2 } } };
  const online = scriptedActivities('online', { admitTasks }, spec);
  await run('online', { recipe: 'coevolve', iterations: 1 }, online);
  expect(online.callsOf('synthesizeTasks')).toEqual([]);
  const inFirst = (name: Parameters<typeof online.callsOf>[0]) =>
    online.callsOf(name).filter((call) => call['iteration'] === 1);
  expect(inFirst('reflect')).toHaveLength(6); // two contexts for each of three signals
  expect(inFirst('explore')).toHaveLength(12);
  expect(inFirst('abstractTasks')).toHaveLength(6);
  expect(inFirst('judgeCandidates')).toHaveLength(1);
  expect(inFirst('closeCalibration')).toHaveLength(1);
  expect(shown).toEqual([expect.stringMatching(/▶ {2}validate +1 of 1 candidates solved\n/)]);
  expect(online.callsOf('reflect').filter(({ iteration }) => iteration === 0)).toEqual([]); // no flagged attempt yet
});
