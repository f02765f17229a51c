import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { until } from '../../support/stack';
import { scriptedActivities } from '../scripted-activities';
import { scriptedCampaigns, type ScriptedCampaigns } from '../scripted-campaigns';

let campaigns: ScriptedCampaigns;
beforeAll(async () => {
  campaigns = await scriptedCampaigns();
});
afterAll(() => campaigns?.remove());

test('a campaign runs the phases of its recipe in order and passes the scores from run to run', async () => {
  const script = scriptedActivities('in-order');
  const state = await campaigns.run('in-order', { recipe: 'combined', iterations: 1 }, script);
  const begun = script.callsOf('beginPhase').map(({ iteration, phase }) => `${String(iteration)} ${String(phase)}`);
  expect(begun).toEqual([
    '0 plan',
    '0 rollout',
    '0 train',
    '0 evaluate',
    '0 report',
    '1 plan',
    '1 rollout',
    '1 detect',
    '1 synthesize',
    '1 validate',
    '1 pair',
    '1 train',
    '1 evaluate',
    '1 report',
  ]);
  expect(script.callsOf('commitPhase')).toHaveLength(begun.length);
  expect(await rowsOfTimeline('campaign/in-order/iteration/0', /^(begin|commit):/)).toEqual([
    'begin: plan',
    'commit: plan, begin: rollout',
    'commit: rollout, begin: train',
    'commit: train, begin: evaluate',
    'commit: evaluate, begin: report',
    'commit: report',
  ]);
  expect(state).toMatchObject({
    status: 'finished',
    scores: [
      { iteration: 0, score: 0.5 },
      { iteration: 1, score: 0.6 },
    ],
  });
  expect(script.callsOf('closeCampaign')).toEqual([{ campaignId: 1, status: 'finished' }]);
  await until(async () => {
    const query = 'WorkflowId = "campaign/in-order" and ExecutionStatus = "ContinuedAsNew"';
    return (await campaigns.client.workflow.count(query)).count === 1;
  });
});

/** Returns the summaries of the activities of a workflow that sends no signal: one would be a row too. */
async function rowsOfTimeline(workflowId: string, wanted: RegExp): Promise<string[]> {
  const { events } = await campaigns.client.workflow.getHandle(workflowId).fetchHistory();
  expect(events!.some((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes)).toBe(false);
  const summaries = events!
    .filter((event) => event.activityTaskScheduledEventAttributes)
    .map(({ userMetadata }) => Buffer.from(userMetadata?.summary?.data ?? []).toString());
  return summaries.map((text) => text.replaceAll('"', '')).filter((text) => wanted.test(text));
}

test('the details show phases, remaining time, success with its interval, and spending against the budget', async () => {
  const spending = { committed: { llmTokens: 1_234, usd: 0.5 }, limit: { llmTokens: 20_000, usd: null } };
  let details = '';
  const script = scriptedActivities('detailed', {
    commitPhase: ({ phase }) => Promise.resolve({ note: `${phase} done`, spending }),
    evaluatePolicy: ({ iteration }) => {
      const promotion = iteration === 0 ? { candidate: 0.5, promoted: true } : { candidate: 0.4, promoted: false };
      return Promise.resolve({ score: 0.5, low: 0.25, high: 0.75, promotion });
    },
    async detectSignals({ iteration }) {
      if (iteration !== 3) return;
      const handle = campaigns.handleOf('detailed');
      details = await until(async () => {
        const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
        return metadata.currentDetails.includes('**detect**') && metadata.currentDetails;
      });
    },
  });
  await campaigns.run('detailed', { recipe: 'eto', iterations: 4 }, script);
  expect(details.replaceAll(/[\d.]+ s/g, '_ s')).toBe(
    [
      '### detailed: eto on ` scripted `',
      '**Running**, iteration 3 of 4, phase **detect**, about _ s left when it began (_ s to _ s, from 2 iterations)',
      [
        '```',
        '███████░░░░░░░░░░░░░░░░░ 28 % of the phases',
        '✓  plan      _ s  plan done',
        '✓  rollout   _ s  rollout done',
        '▶  detect',
        '·  pair',
        '·  train',
        '·  evaluate',
        '·  report',
        '```',
      ].join('\n'),
      [
        '```',
        'iteration  candidate  decision            active  interval on dev',
        '        0      0.500  promoted             0.500  0.250 to 0.750',
        ...[1, 2].map((k) => `        ${k}      0.400  kept the incumbent   0.500  0.250 to 0.750`),
        '```',
      ].join('\n'),
      [
        '```',
        'budget                 spent     limit',
        'tokens of models       1,234    20,000',
        'models and training  $0.5000  no limit',
        '```',
      ].join('\n'),
    ].join('\n\n'),
  );
});

test('a campaign that is paused at the end of an iteration starts the next one after the resume', async () => {
  const script = scriptedActivities('pauses', {
    async writeReport({ iteration }) {
      if (iteration === 0) await campaigns.send('pauses', 'pause');
    },
  });
  const state = await campaigns.run('pauses', { recipe: 'eto', iterations: 1 }, script, async () => {
    const paused = await until(async () => {
      const status = await campaigns.status('pauses');
      return status.progress.iteration === 1 && status;
    });
    expect(paused).toMatchObject({ status: 'paused', pausedBy: 'ada' });
    expect(script.callsOf('openIteration')).toHaveLength(1);
    await campaigns.send('pauses', 'resume');
  });
  expect(state).toMatchObject({ status: 'finished', pausedBy: null });
});

test.each([
  ['resume', 'finished'],
  ['stop', 'finished'],
  ['abort', 'aborted'],
] as const)(
  'a campaign that is paused after its last iteration ends only after the command %s',
  async (command, status) => {
    const name = `paused-at-end-${command}`;
    const script = scriptedActivities(name, {
      async writeReport() {
        await campaigns.send(name, 'pause');
      },
    });
    const state = await campaigns.run(name, { recipe: 'eto', iterations: 0 }, script, async () => {
      await until(async () => {
        const query = `WorkflowId = "campaign/${name}/iteration/0" and ExecutionStatus = "Completed"`;
        return (await campaigns.client.workflow.count(query)).count === 1;
      });
      await sleep(1_000); // long enough to end without the pause
      expect(await campaigns.status(name)).toMatchObject({ status: 'paused', pausedBy: 'ada' });
      expect(script.callsOf('closeCampaign')).toEqual([]);
      await campaigns.send(name, command);
    });
    expect(state).toMatchObject({ status, scores: [{ iteration: 0, score: 0.5 }] });
  },
);

test('a campaign that is paused during an iteration runs no further phase until the resume', async () => {
  const script = scriptedActivities('holds', {
    async planIteration() {
      await campaigns.send('holds', 'pause');
    },
  });
  await campaigns.run('holds', { recipe: 'eto', iterations: 0 }, script, async () => {
    await until(() => Promise.resolve(script.callsOf('commitPhase').length === 1));
    const status = await campaigns.status('holds');
    expect(status).toMatchObject({ status: 'paused', progress: { iteration: 0, phase: 'plan' } });
    expect(script.callsOf('collectRollouts')).toEqual([]);
    await campaigns.send('holds', 'resume');
  });
  expect(script.callsOf('recordOperatorCommand')).toMatchObject([
    { kind: 'paused', status: 'paused', actor: 'ada' },
    { kind: 'resumed', status: 'running', actor: 'ada' },
  ]);
});

test('a stopped campaign ends after its current iteration', async () => {
  const script = scriptedActivities('stops', {
    async planIteration() {
      await campaigns.send('stops', 'stop');
    },
  });
  const state = await campaigns.run('stops', { recipe: 'eto', iterations: 5 }, script);
  expect(state).toMatchObject({ status: 'stopped', scores: [{ iteration: 0 }] });
  expect(script.callsOf('closeCampaign')).toEqual([{ campaignId: 1, status: 'stopped' }]);
});

test('a campaign finishes under continuous commands, also while children start and end', async () => {
  const script = scriptedActivities('commanded');
  const current = { ended: false };
  let acceptedCount = 0;
  const sendCommands = async (): Promise<void> => {
    while (!current.ended)
      for (const command of ['pause', 'resume'] as const) {
        await campaigns.send('commanded', command);
        acceptedCount += 1;
      }
  };
  const state = await campaigns.run('commanded', { recipe: 'co-evolving-agents', iterations: 1 }, script, async () => {
    const sending = sendCommands().catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error; // the campaign ended between two commands
    });
    await campaigns.ended('commanded').finally(() => (current.ended = true));
    await sending;
  });
  expect(state).toMatchObject({ status: 'finished', scores: { length: 2 } });
  expect(acceptedCount).toBeGreaterThan(10);
});
