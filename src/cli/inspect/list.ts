import type { Command } from 'commander';
import { listCampaigns, type ListedCampaign } from '../../client/campaign-status';
import { withConnections } from '../../client/connections';
import { noticesOf } from '../../client/held-work';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { dateTime, dollars, duration, rate } from '../../domain/formats';
import { selfEnding } from '../../domain/campaign/parked-hints';
import { asCalled } from '../output/called-name';
import { printMessage, printResult } from '../output/output';
import { number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type Options = { attention?: boolean; json?: boolean };

/** `coevolve list` */
export function addList(program: Command): void {
  program
    .command('list')
    .description('list all campaigns: where they are, and what they wait for')
    .option('--attention', 'only those that wait for an operator')
    .option('--json', 'print the campaigns as JSON')
    .action(({ attention, json }: Options) =>
      withConnections(async (connections) => {
        const { campaigns, unchecked } = await listCampaigns(connections);
        if (unchecked) printMessage(`statuses are those of the database, not compared with Temporal: ${unchecked}`);
        const listed = attention ? campaigns.filter(needsAttention) : campaigns;
        printResult(json, listed, () => [campaignTable(listed), ...listed.flatMap(waitText).map(asCalled)].join('\n'));
      }),
    );
}

const needsAttention = ({ problem, waitsFor, held }: ListedCampaign): boolean =>
  problem !== null || waitsFor !== null || held.some(({ kind }) => kind !== 'repeated');

const campaignTable = (campaigns: readonly ListedCampaign[]): string =>
  terminalTable(campaigns, [
    ...properties('name', 'status'),
    text('iteration', ({ iteration, iterations }) => (iteration === null ? null : `${iteration} of ${iterations}`)),
    text('phase', ({ phase, finishedAt }) => (finishedAt ? null : phase)),
    number('dev', ({ success }) => rate(success)),
    text('progress', ({ progressAt, finishedAt }) => (finishedAt ? null : `${duration(secondsSince(progressAt))} ago`)),
    text('left', ({ secondsLeft }) => (secondsLeft === null ? null : `about ${duration(secondsLeft)}`)),
    number('spent', ({ usd }) => (usd > 0 ? dollars(usd) : null)),
    text('recipe', ({ recipe, isEvaluation }) => (isEvaluation ? 'none: evaluation' : recipe)),
    ...properties('environment'),
    text('seed', (c) => c.seed),
    text('started', (c) => dateTime(c.createdAt.toISOString())),
    text('forked from', forkOrigin),
  ]);

const secondsSince = (time: Date): number => Math.max(0, (Date.now() - time.getTime()) / 1000);

/** Formats the reasons why a campaign waits, each with the next command. */
function waitText({ name, status, problem, held, parkedCode, ...wait }: ListedCampaign): string[] {
  const { waitsFor, waitsSince } = wait;
  const since = waitsSince ? ` since ${dateTime(waitsSince.toISOString())}` : '';
  const by = parkedCode ? ` by ${parkedCode}` : '';
  const ending = selfEnding(wait)?.replace(/^It/, 'it') ?? `see \`coevolve status ${name}\``;
  if (problem) return [`${name} is ${problem.status}: ${problem.what}; ${problem.next}`];
  const parked = `${name} is parked${since}${by}: ${firstLine(waitsFor ?? '')}; ${ending}`;
  const paused = `${name} is ${firstLine(waitsFor ?? '')}; \`coevolve resume ${name}\``;
  return [
    ...(waitsFor === null ? [] : [status === 'parked' ? parked : paused]),
    ...noticesOf(held).map(({ what, next }) => `${name} is held up: ${what}; ${next}`),
  ];
}

const firstLine = (reason: string): string => {
  const [line = ''] = reason.split('\n');
  return line.length > 200 ? `${line.slice(0, 200)} ...` : line;
};
