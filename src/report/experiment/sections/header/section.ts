import { html, type Html } from '../../../page/html';
import { dateTime, shortHash } from '../../../page/format';
import { completeness, type ExperimentReport, isExploratory } from '../../model/report';
import { intervalName, pointsRange, signedPoints } from '../../model/points';
import { verdictSentence } from '../../model/verdict-sentence';
import { validityChecks } from '../../model/validity';

/** The primary verdict as a sentence, and below it the rules that it rests on. */
export function renderHeader(report: ExperimentReport): Html {
  const { record, analysis } = report;
  const { experiment } = record;
  const primary = analysis.contrasts.find(({ kind }) => kind === 'primary');
  const { finished, expected } = completeness(report);
  return html`<header>
    <p class="kicker">experiment${isExploratory(report) ? ' · exploratory' : ''}</p>
    <h1>${experiment.name}</h1>
    <p class="lead">${experiment.question}</p>
    <dl class="facts">
      ${fact('primary contrast', experiment.analysis.primary.name)}${fact('metric', experiment.analysis.metric)}
      ${fact('look', `${analysis.look} of ${experiment.looks.at(-1) ?? 0} seeds`)}
      ${fact('cells', `${finished} of ${expected}`)}
      ${fact('frozen', record.frozenAt === null ? 'no' : dateTime(new Date(record.frozenAt)))}
      ${fact('frozen hash', shortHash(record.hash))}
    </dl>
    <div class="outcome">
      ${primary ? outcome(report, primary) : html`<p class="verdict">No primary contrast was analysed.</p>`}
      ${validityBox(report)}
    </div>
  </header>`;
}

const fact = (name: string, value: string): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;

type Primary = ExperimentReport['analysis']['contrasts'][number];

const outcome = ({ record, analysis }: ExperimentReport, primary: Primary): Html =>
  html`<div>
      <p class="label">${primary.plus} minus ${primary.minus}</p>
      <p class="change">
        <strong>${primary.difference === null ? primary.verdict : signedPoints(primary.difference)}</strong>
        <span class="arrow">${primary.difference === null ? '' : 'points'}</span>
      </p>
      <p>
        <span class="badge ${primary.verdict}">${primary.verdict}</span>
        ${primary.low === null ? '' : `${intervalName(record.experiment)} ${pointsRange(primary.low, primary.high)}`}
      </p>
    </div>
    <p class="verdict">${verdictSentence(record.experiment, analysis, primary)}</p>`;

/** Names every rule, with the finding where it was broken. */
const validityBox = (report: ExperimentReport): Html =>
  html`<dl class="checks" aria-label="Validity">
    ${validityChecks(report).map(
      ({ name, holds, finding }) =>
        html`<dt><span class="badge ${holds ? 'yes' : 'no'}">${name}: ${holds ? 'yes' : 'no'}</span></dt>
          <dd>${finding}</dd>`,
    )}
  </dl>`;
