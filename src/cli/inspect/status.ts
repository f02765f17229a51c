import type { Command } from 'commander';
import { readCampaignDetails, type CampaignDetails } from '../../client/campaign-details';
import { runCheck } from '../../client/campaign-run';
import { followCampaign } from '../../client/follow-campaign';
import { withConnections } from '../../client/connections';
import { noticesOf } from '../../client/held-work';
import { DomainError } from '../../domain/errors';
import { causeHint, nextCommands, selfEnding } from '../../domain/campaign/parked-hints';
import { parkedCode } from '../../domain/campaign/parked-reasons';
import { forkOrigin, type ForkOrigin } from '../../domain/campaign/fork-origin';
import { scoreLines } from '../../domain/campaign/score-lines';
import { sealText } from '../../store/experiment/seals';
import { hasEnded } from '../../store/campaign/campaigns';
import type { PhaseRow } from '../../store/campaign/iterations';
import type { ScenarioCompletion } from '../../store/training/scenarios';
import { asCalled } from '../output/called-name';
import { followOutput } from '../output/follow-output';
import { dateTime, duration, rounded, shortHash } from '../../domain/formats';
import { printResult } from '../output/output';
import { setScoresText } from '../output/set-scores-text';
import { failuresText } from '../output/failures-text';
import { judgeText } from '../output/judge-text';
import {
  callsText,
  enrichmentText,
  jobText,
  lossText,
  resultText,
  rolloutText,
  trainingText,
} from '../output/running-text';
import { number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type Options = { watch?: boolean; untilParked?: boolean; json?: boolean };

/** `coevolve status <campaign>` */
export function addStatus(program: Command): void {
  program
    .command('status <campaign>')
    .description('show the state of a campaign: phases, training jobs, costs')
    .option('--watch', 'follow the campaign phase by phase until it ends')
    .option('--until-parked', 'follow it until it ends or parks (exit code 5)')
    .option('--json', 'print the state as JSON')
    .action((name: string, { watch, untilParked, json }: Options) =>
      withConnections(async (connections) => {
        const check = runCheck(connections, name);
        if (untilParked)
          await followCampaign(connections, name, { ...followOutput(name), check, onParked: () => refuseParked(name) });
        else if (watch) await followCampaign(connections, name, { ...followOutput(name), check });
        const details = await readCampaignDetails(connections, name);
        printResult(json, details, () => statusText(details));
      }),
    );
}

function refuseParked(name: string): never {
  throw new DomainError('Parked', `${name} is parked and waits for an operator; see \`coevolve status ${name}\``);
}

function statusText(details: CampaignDetails): string {
  const { name, status, abortedBy, progress, iterations, phases } = details;
  const isEnd = hasEnded(status);
  const unfinished =
    status === 'parked' ? 'parked' : isEnd || status === 'lost' || status === 'failing' ? 'not finished' : 'running';
  const timeOf = ({ startedAt, finishedAt }: PhaseRow): string | null =>
    finishedAt && duration((finishedAt.getTime() - startedAt.getTime()) / 1000);
  return [
    `${name}: ${status}${abortedBy && !isEnd ? ', being aborted' : ''}, iteration ${progress.iteration} of ${iterations}, phase ${progress.phase}`,
    ...attentionText(details, isEnd),
    ...forkText(details),
    ...nondeterminismText(details.nondeterminism),
    terminalTable(phases, [
      ...properties('iteration', 'phase'),
      number('time', timeOf),
      text('result', ({ result }) => (result ? resultText(result) : unfinished)),
    ]),
    ...measuredText(details),
  ].join('\n');
}

/** What holds the campaign, with the next commands. */
function attentionText(details: CampaignDetails, isEnd: boolean): string[] {
  const { name, status, problem, waitsFor, pausedWork, failingWork, repeatedWork, progress } = details;
  const notices = [...(problem ? [problem] : []), ...noticesOf([...pausedWork, ...failingWork])];
  return [
    ...notices.flatMap(({ what, next }) => [`needs attention: ${what}`, asCalled(next)]),
    ...noticesOf(repeatedWork).map(({ what, next }) => `${what}; ${asCalled(next)}`),
    ...(progress.parked && !isEnd ? [`needs attention: ${progress.parked}`, ...parkedText(details)].map(asCalled) : []),
    ...(status === 'paused' && waitsFor !== null
      ? [`${waitsFor}; ${asCalled(`\`coevolve resume ${name}\` continues it`)}`]
      : []),
  ];
}

/** Measurements below the table of phases. */
function measuredText(details: CampaignDetails): string[] {
  const { name, emptySyntheses, enrichments, failures, judge, rollouts, models, jobs } = details;
  const { scores, setScores, seal, training } = details;
  const isEvaluation = !setScores.some(({ evaluationSet }) => evaluationSet === 'dev');
  return [
    ...emptySyntheses.map(asCalled),
    ...enrichments.map(enrichmentText),
    ...failuresText(failures),
    ...(judge ? [asCalled(judgeText(name, judge))] : []),
    ...rollouts.map(rolloutText),
    ...(models ? [callsText(models, Date.now())] : []),
    ...jobs.map(jobText),
    ...(isEvaluation ? [] : scoreLines(scores)),
    ...setScoresText(setScores, details.confidence),
    ...(seal ? [asCalled(`scores on test: ${sealText(seal)}`)] : []),
    ...details.scenarios.map(scenarioText),
    ...(training.jobs > 0 ? [trainingText(training)] : []),
    ...details.losses.map(lossText),
  ];
}

/** The code of the reason with the operator's next steps, as in docs/parked.md, and what ends the wait without them. */
function parkedText(parked: Pick<CampaignDetails, 'name' | 'progress' | 'waitsSince'>): string[] {
  const { progress, waitsSince } = parked;
  const since = waitsSince ? ` since ${dateTime(waitsSince.toISOString())}` : '';
  const ending = selfEnding(progress);
  return [
    `parked${since} by ${parkedCode(progress)}: ${causeHint(parked)}`,
    nextCommands(parked),
    ...(ending ? [ending] : []),
  ];
}

const forkText = (origin: ForkOrigin): string[] => {
  const from = forkOrigin(origin);
  return from === null ? [] : [`forked from ${from}`];
};

const scenarioText = ({ policyId, evaluationSet, completed, scenarios }: ScenarioCompletion): string =>
  `scenarios of ${evaluationSet} completed by ${shortHash(policyId)}: ${completed} of ${scenarios} (${rounded(completed / scenarios)})`;

const nondeterminismText = (nondeterminism: string[] | null): string[] => {
  if (nondeterminism === null) return [];
  if (nondeterminism.length === 0) return ['deterministic: another run of this spec gives the same rows'];
  return ['not deterministic, another run may give other rows:', ...nondeterminism.map((reason) => `  ${reason}`)];
};
