import { forkOrigin } from '../../domain/campaign/fork-origin';
import { beforeAfterChart, type RateWithInterval } from '../charts/before-after-chart';
import { figure } from '../charts/figure';
import {
  count,
  counted,
  dateTime,
  duration,
  interval,
  nothing,
  pEquals,
  percent,
  rounded,
  share,
  shortHash,
  signed,
} from '../../domain/formats';
import { excludedText, unequalExclusions } from '../../domain/evaluation/exclusions';
import { checkpointsAlone } from '../../domain/evaluation/compare-rewards';
import { significance } from '../../domain/evaluation/statistics';
import { type Content, html, type Html } from '../../tables/html';
import { badge, facts } from '../page/blocks';
import type { LiveParts } from '../page/page';
import type { CampaignHeader, Evaluation, Outcome, PairedCounts, SharedData } from './campaign-data';

/**
 * The top of the page: the campaign's facts and its outcome, which claims no more than the evaluations show.
 *
 * @param live parts of a server's page: in place of the kicker, and below the name
 */
export function renderHeader({ campaign, outcome }: SharedData, live?: LiveParts): Html {
  return html`<header>
    ${live?.above ?? html`<p class="kicker">Campaign report</p>`}
    <h1>${campaign.name}</h1>
    ${live?.below ?? null} ${facts(factsOf(campaign))} ${outcomeCard(outcome, campaign)}
  </header>`;
}

function factsOf(campaign: CampaignHeader): [string, Content][] {
  const { createdAt, finishedAt, iterations } = campaign;
  const took = finishedAt ? duration((finishedAt.getTime() - createdAt.getTime()) / 1000) : nothing;
  const from = forkOrigin(campaign);
  return [
    ...(from ? [['forked from', from] as [string, Content]] : []),
    ['recipe', campaign.recipe],
    ['environment', campaign.environment],
    ['seed', campaign.seed],
    ['status', badge(campaign.status)],
    ['iterations', iterations > 0 ? `start + ${count(iterations - 1)}` : nothing],
    ['started', dateTime(createdAt.toISOString())],
    ['finished', finishedAt ? dateTime(finishedAt.toISOString()) : 'not yet'],
    ['took', took],
    ...(campaign.nondeterminism ? [['repeatable', repeatable(campaign.nondeterminism)] as [string, Content]] : []),
  ];
}

const repeatable = (nondeterminism: readonly string[]): string =>
  nondeterminism.length === 0 ? 'to the last bit' : `no: ${nondeterminism.join('; ')}`;

function outcomeCard(outcome: Outcome, { confidence, evaluationAttempts: attempts }: CampaignHeader): Html {
  const { start, final, isFinalActive, evaluationSet, paired, pairedTasks } = outcome;
  const level = percent(confidence);
  if (!start)
    return html`<div class="outcome">
      <p class="verdict">No policy has been evaluated yet.</p>
    </div>`;
  const after = isFinalActive ? 'active policy' : 'candidate';
  const unequal = final && unequalExclusions(['supervised start', start], [after, final]);
  const rates = [
    bar('supervised start', 'var(--incumbent)', start),
    ...(final ? [bar(after, 'var(--target)', final)] : []),
  ];
  return html`<div class="outcome">
    <div>
      <p class="label">Success on ${evaluationSet}</p>
      <p class="change">
        <span>${share(start.successes, start.tasks)}</span>
        ${final ? html`<span class="arrow" aria-label="to">→</span><strong>${share(final.successes, final.tasks)}</strong>` : null}
      </p>
      <p class="note">${[start, ...(final ? [final] : [])].map((e) => score(e, level))}</p>
      <p class="verdict">${verdict(outcome)}</p>
      ${unequal ? html`<p class="verdict">unequal exclusions: ${unequal}</p>` : null}
      ${paired ? html`<p>${pairedSentence(paired, `${counted(pairedTasks, 'task')} of ${evaluationSet}`, { level, attempts })}</p>` : null}
      <p class="note">${setSentences[evaluationSet]}</p>
    </div>
    ${figure(beforeAfterChart(`Success on ${evaluationSet} with ${level} intervals`, rates), 400)}
  </div>`;
}

const setSentences = {
  test: 'No choice of the campaign reads the test set.',
  dev: 'The promotion gate reads dev, so the score of a promoted policy is too high on average.',
} as const;

const bar = (name: string, colour: string, e: Evaluation): RateWithInterval => ({
  name,
  colour,
  value: e.successes / e.tasks,
  low: e.successLow,
  high: e.successHigh,
});

const score = (e: Evaluation, level: string): Html =>
  html`<span class="line"
    >${e.iteration === 0 ? 'Supervised start' : `Iteration ${e.iteration}`}: ${rounded(e.successes)} of
    ${counted(e.tasks, 'task')}, ${level} interval ${interval(e.successLow, e.successHigh)}, attempts without a score:
    ${excludedText(e)} <code>${shortHash(e.policyId)}</code></span
  >`;

function verdict({ start, final, isFinalActive, paired }: Outcome): string {
  if (!final) return 'Only the supervised start has been evaluated: there is no later policy to compare it with.';
  const active = isFinalActive ? '' : 'The supervised start is still active: no candidate was promoted. ';
  if (!paired || !start) return `${active}No task was scored for both policies, so they cannot be compared.`;
  const ofCandidate = isFinalActive ? '' : ' for the newest candidate';
  if (paired.wins === paired.losses) return `${active}No gain${ofCandidate}: as many tasks were lost as won.`;
  const direction = paired.wins > paired.losses ? 'gain' : 'loss';
  if (paired.mcnemarP < significance)
    return `${active}A ${direction}${ofCandidate}, significant at the ${significance} level. It compares ${checkpointsAlone}`;
  return `${active}A ${direction}${ofCandidate} that chance alone can explain: p is not below ${significance}.`;
}

function pairedSentence(
  paired: PairedCounts,
  tasks: string,
  { level, attempts }: { level: string; attempts: number },
): string {
  const [alone, test] = attempts > 1 ? ['more often', 'exact sign test'] : ['only', 'exact McNemar'];
  return (
    `Of ${tasks} that both attempted, ${count(paired.wins)} are solved ${alone} by the later policy and ` +
    `${count(paired.losses)} ${alone} by the start (${test} ${pEquals(paired.mcnemarP)}); mean reward changed by ` +
    `${signed(paired.meanDifference)} (${level} interval ${interval(paired.differenceLow, paired.differenceHigh, signed)}).`
  );
}
