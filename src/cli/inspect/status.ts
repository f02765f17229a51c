import type { Command } from 'commander';
import { forkOrigin, type ForkOrigin } from '../../domain/campaign/fork-origin';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { hasEnded } from '../../store/campaign/campaigns';
import { nextCommands } from '../../workflows/base/details';
import { statusQuery } from '../../workflows/base/messages';
import { followCampaign } from '../base/follow-campaign';
import { printResult, rounded, shortHash, table } from '../base/output';
import type { ScenarioCompletion } from '../../store/training/scenarios';
import { jobText, trainingText } from '../base/training-text';
import { withSession, type Session } from '../../client/session';

/** `coevolve status <campaign>` says where a campaign is; with --watch it stays until the campaign ends. */
export function addStatus(program: Command): void {
  program
    .command('status <campaign>')
    .description('say where a campaign is')
    .option('--watch', 'stay, and tell of every phase until the campaign ends')
    .option('--json', 'print the state as JSON')
    .action((name: string, { watch, json }: { watch?: boolean; json?: boolean }) =>
      withSession(async (session) => {
        if (watch) await followCampaign(session, name);
        const status = await readStatus(session, name);
        printResult(json, status, () => statusText(status));
      }),
    );
}

type Status = Awaited<ReturnType<typeof readStatus>>;

async function readStatus({ store, temporal }: Session, name: string) {
  const { id, forkedFrom, forkIteration, nondeterminism } = await store.campaigns.getByName(name);
  const client = await temporal();
  const state = await client.workflow.getHandle(campaignWorkflowId(name)).query(statusQuery);
  return {
    ...state,
    ...{ forkedFrom, forkIteration, nondeterminism },
    phases: await store.iterations.listPhases(id),
    jobs: await store.trainingProgress.listRunning(id),
    training: await store.ledger.getTrainingCost(id),
    scenarios: await store.evaluations.listScenarios(id),
  };
}

function statusText({
  name,
  status,
  abortedBy,
  progress,
  iterations,
  phases,
  jobs,
  training,
  scenarios,
  nondeterminism,
  ...origin
}: Status): string {
  const rows = phases.map(({ iteration, phase, startedAt, finishedAt, result }) => [
    iteration,
    phase,
    finishedAt ? Number(((finishedAt.getTime() - startedAt.getTime()) / 1000).toFixed(1)) : null,
    result
      ? Object.entries(result)
          .map(([key, value]) => `${key} ${rounded(value)}`)
          .join(', ')
      : 'running',
  ]);
  return [
    `${name}: ${status}${abortedBy && !hasEnded(status) ? ', being aborted' : ''}, iteration ${progress.iteration} of ${iterations}, phase ${progress.phase}`,
    ...(progress.parked && !hasEnded(status)
      ? [`needs attention: ${progress.parked}`, nextCommands({ name, progress })]
      : []),
    ...forkText(origin),
    ...nondeterminismText(nondeterminism),
    table(['iteration', 'phase', 'seconds', 'result'], rows),
    ...jobs.map(jobText),
    ...scenarios.map(scenarioText),
    ...(training.jobs > 0 ? [trainingText(training)] : []),
  ].join('\n');
}

const forkText = (origin: ForkOrigin): string[] => {
  const from = forkOrigin(origin);
  return from === null ? [] : [`forked from ${from}`];
};

const scenarioText = ({ policyId, completed, scenarios }: ScenarioCompletion): string =>
  `held-out scenarios completed by ${shortHash(policyId)}: ${completed} of ${scenarios} (${rounded(completed / scenarios)})`;

/** Whether the numbers of the campaign are those of every run of its spec. */
const nondeterminismText = (nondeterminism: string[] | null): string[] => {
  if (nondeterminism === null) return [];
  if (nondeterminism.length === 0) return ['deterministic: another run of this spec gives the same rows'];
  return ['not deterministic, another run may give other rows:', ...nondeterminism.map((reason) => `  ${reason}`)];
};
