import type { Command } from 'commander';
import { readCampaignDetails, type CampaignDetails } from '../../client/campaign-status';
import { runCheck } from '../../client/campaign-run';
import { followCampaign } from '../../client/follow-campaign';
import { withSession } from '../../client/session';
import { forkOrigin, type ForkOrigin } from '../../domain/campaign/fork-origin';
import { hasEnded } from '../../store/campaign/campaigns';
import type { ScenarioCompletion } from '../../store/training/scenarios';
import { nextCommands } from '../../workflows/base/details';
import { followOutput } from '../base/follow-output';
import { printResult, rounded, shortHash, table } from '../base/output';
import { jobText, trainingText } from '../base/training-text';

/** `coevolve status <campaign>` */
export function addStatus(program: Command): void {
  program
    .command('status <campaign>')
    .description('show the state of a campaign: phases, training jobs, costs')
    .option('--watch', 'follow the campaign phase by phase until it ends')
    .option('--json', 'print the state as JSON')
    .action((name: string, { watch, json }: { watch?: boolean; json?: boolean }) =>
      withSession(async (session) => {
        if (watch) await followCampaign(session, name, { ...followOutput(name), check: runCheck(session, name) });
        const details = await readCampaignDetails(session, name);
        printResult(json, details, () => statusText(details));
      }),
    );
}

function statusText({
  name,
  status,
  problem,
  pausedWork,
  abortedBy,
  progress,
  iterations,
  phases,
  jobs,
  training,
  scenarios,
  nondeterminism,
  ...origin
}: CampaignDetails): string {
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
  const isEnd = status !== 'lost' && hasEnded(status);
  return [
    `${name}: ${status}${abortedBy && !isEnd ? ', being aborted' : ''}, iteration ${progress.iteration} of ${iterations}, phase ${progress.phase}`,
    ...[...(problem ? [problem] : []), ...pausedWork].flatMap(({ what, next }) => [`needs attention: ${what}`, next]),
    ...(progress.parked && !isEnd ? [`needs attention: ${progress.parked}`, nextCommands({ name, progress })] : []),
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

const nondeterminismText = (nondeterminism: string[] | null): string[] => {
  if (nondeterminism === null) return [];
  if (nondeterminism.length === 0) return ['deterministic: another run of this spec gives the same rows'];
  return ['not deterministic, another run may give other rows:', ...nondeterminism.map((reason) => `  ${reason}`)];
};
