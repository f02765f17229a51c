import { escapeMarkdown, markdownTable } from '../../tables/markdown-table';
import { armsTable } from './arms';
import { blocksTable, placeBlocks } from './blocks';
import { contrastsTable } from './contrasts';
import { rulesTable } from './cost';
import type { ExperimentReport } from './report';
import { validityTable } from './validity';
import { intervalName, verdictSentence } from './verdict-sentence';

/** The verdict, the rules, and the tables of arms and contrasts as Markdown. */
export function experimentMarkdown(report: ExperimentReport): string {
  const { record, analysis, inputHash } = report;
  const { experiment } = record;
  const blocks = placeBlocks(report);
  const verdicts = analysis.contrasts.map((result) => verdictSentence(record, analysis, result));
  return `${[
    `# ${escapeMarkdown(experiment.name)}`,
    escapeMarkdown(experiment.question),
    verdicts.map((sentence) => `- ${escapeMarkdown(sentence)}`).join('\n'),
    markdownTable(validityTable(report)),
    `Points of ${escapeMarkdown(experiment.analysis.metric)}; one value per seed.`,
    markdownTable(armsTable(report)),
    `Contrasts in points. CI: ${intervalName(experiment)}.`,
    markdownTable(contrastsTable(report, 'reports')),
    ...(blocks.length === 0 ? [] : [markdownTable(blocksTable(blocks))]),
    ...(analysis.effort.length === 0 ? [] : [markdownTable(rulesTable(analysis))]),
    `Frozen file \`${record.hash}\`, analysed input \`${inputHash}\`.`,
  ].join('\n\n')}\n`;
}
