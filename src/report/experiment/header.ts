import { dateTime, interval, shortHash, signedPoints } from '../../domain/formats';
import { html, type Html } from '../../tables/html';
import { badge, facts } from '../page/blocks';
import type { LiveParts } from '../page/page';
import { completeness, type ExperimentReport, isExploratory } from './report';
import { intervalName, verdictSentence } from './verdict-sentence';
import { validityChecks } from './validity';

/**
 * The primary verdict as a sentence, and below it the rules that it rests on.
 *
 * @param live parts of a server's page: in place of the kicker, and below the name
 */
export function renderHeader(report: ExperimentReport, live?: LiveParts): Html {
  const { record, analysis } = report;
  const { experiment } = record;
  const primary = analysis.contrasts.find(({ kind }) => kind === 'primary');
  const { finished, expected } = completeness(report);
  return html`<header>
    ${live?.above ?? html`<p class="kicker">experiment${isExploratory(report) ? ' · exploratory' : ''}</p>`}
    <h1>${experiment.name}</h1>
    ${live?.below ?? null}
    <p class="lead">${experiment.question}</p>
    ${facts([
      ['primary contrast', experiment.analysis.primary.name],
      ['metric', experiment.analysis.metric],
      ['look', `${analysis.look} of ${experiment.looks.at(-1) ?? 0} seeds`],
      ['cells', `${finished} of ${expected}`],
      ['frozen', record.frozenAt === null ? 'no' : dateTime(record.frozenAt)],
      ['frozen hash', shortHash(record.hash)],
    ])}
    <div class="outcome">
      ${primary ? outcome(report, primary) : html`<p class="verdict">No primary contrast was analysed.</p>`}
      ${validityBox(report)}
    </div>
  </header>`;
}

type Primary = ExperimentReport['analysis']['contrasts'][number];

const outcome = ({ record, analysis }: ExperimentReport, primary: Primary): Html =>
  html`<div>
      <p class="label">${primary.plus} minus ${primary.minus}</p>
      <p class="change">
        <strong>${primary.difference === null ? primary.verdict : signedPoints(primary.difference)}</strong>
        <span class="arrow">${primary.difference === null ? '' : 'points'}</span>
      </p>
      <p>
        ${badge(primary.verdict)}
        ${primary.low === null ? '' : `${intervalName(record.experiment)} ${interval(primary.low, primary.high, signedPoints)}`}
      </p>
    </div>
    <p class="verdict">${verdictSentence(record, analysis, primary)}</p>`;

/** Names every rule, with the finding where it was broken. */
const validityBox = (report: ExperimentReport): Html =>
  html`<dl class="checks" aria-label="Validity">
    ${validityChecks(report).map(
      ({ name, holds, finding }) =>
        html`<dt>${badge(holds ? 'yes' : 'no', `${name}: ${holds ? 'yes' : 'no'}`)}</dt>
          <dd>${finding}</dd>`,
    )}
  </dl>`;
