import { completenessOf } from '../../domain/experiment/record';
import {
  armsTable,
  blocksTable,
  contrastsTable,
  type ExperimentReport,
  isExploratory,
  marksOf,
  placeBlocks,
  validityChecks,
  validityTable,
  verdictSentence,
} from '../../report/experiment';
import { writeTerminal } from '../../tables/terminal-table';

/** The whole analysis, `contrasts` among it, with the rules and the primary verdict as a sentence. */
export function analysisJson(report: ExperimentReport): Record<string, unknown> {
  const { record, analysis, inputHash } = report;
  const primary = analysis.contrasts.find(({ kind }) => kind === 'primary');
  return {
    experiment: record.experiment.name,
    hash: record.hash,
    inputHash,
    exploratory: isExploratory(report),
    complete: completenessOf(record, analysis.look).missing.length === 0,
    validity: validityChecks(report),
    verdict: primary ? verdictSentence(record, analysis, primary) : null,
    ...analysis,
    blocks: placeBlocks(report),
    contrasts: analysis.contrasts.map((contrast) => ({ ...contrast, marks: marksOf(report, contrast) })),
  };
}

/** The verdicts as sentences, the rules, and the tables of arms and contrasts; numbers in points. */
export function analysisText(report: ExperimentReport): string {
  const { record, analysis } = report;
  const blocks = placeBlocks(report);
  const sentences = analysis.contrasts.map((result) => verdictSentence(record, analysis, result));
  return [
    sentences.join('\n'),
    writeTerminal(validityTable(report)),
    ...(analysis.arms.length === 0 ? [] : [writeTerminal(armsTable(report, ['min', 'max', 'IQM']))]),
    writeTerminal(contrastsTable(report, 'everywhere')),
    ...(blocks.length === 0 ? [] : [writeTerminal(blocksTable(blocks))]),
  ].join('\n\n');
}
