import { note } from '../../../page/blocks';
import { dateTime, shortHash } from '../../../page/format';
import { type Content, html, type Html } from '../../../page/html';
import { table } from '../../../page/table';
import type { ExperimentReport } from '../../model/report';
import { defineSection } from '../../model/section';

/** Amendments, exploratory cells and looks. */
export const amendmentsSection = defineSection({
  id: 'amendments',
  title: 'Amendments and exploratory marks',
  render({ record, looks }) {
    const early = record.cells.filter(({ exploratory }) => exploratory).map(({ arm, seed }) => `${arm}-s${seed}`);
    return [
      ...(record.amendments.length === 0 ? [note('No amendment: one frozen version.')] : [amendmentTable(record)]),
      note(early.length === 0 ? 'No cell is exploratory.' : `Exploratory cells: ${early.join(', ')}.`),
      ...(looks.length === 0
        ? []
        : [
            table({
              caption: 'Looks at the scores',
              head: ['at', 'seeds', 'kind', 'input'],
              textColumns: 4,
              rows: looks.map(({ at, look, exploratory, inputHash }) => [
                dateTime(new Date(at)),
                String(look),
                exploratory ? 'exploratory' : 'declared',
                html`<code>${shortHash(inputHash)}</code>`,
              ]),
            }),
          ]),
    ];
  },
});

const amendmentTable = ({ amendments }: ExperimentReport['record']): Html =>
  table({
    caption: 'Amendments',
    head: ['version', 'frozen', 'differences'],
    textColumns: 3,
    rows: amendments.map(({ version, frozenAt, differences }) => [
      String(version),
      dateTime(new Date(frozenAt)),
      differences.map((each) => html`<span class="line"><code>${JSON.stringify(each)}</code></span>`),
    ]),
  });

/** Keys in which the arms differ from the base. */
export const differencesSection = defineSection({
  id: 'differences',
  title: 'How the arms differ',
  render: ({ record }) =>
    table({
      caption: 'Keys whose values differ from the base',
      head: ['arm', 'key', 'base', 'arm’s value'],
      textColumns: 4,
      rows: record.experiment.arms.flatMap((arm): Content[][] =>
        arm.differences.length === 0
          ? [[arm.name, arm.replicaOf === null ? 'none: the base' : `none: repeats ${arm.replicaOf}`, '', '']]
          : arm.differences.map(({ key, base, arm: own }) => [
              arm.name,
              html`<code>${key}</code>`,
              ...[base, own].map((value) => html`<code>${JSON.stringify(value) ?? 'unset'}</code>`),
            ]),
      ),
    }),
});

/** Hashes of the promise, the analysis and each cell. */
export const manifestSection = defineSection({
  id: 'manifest',
  title: 'Manifest and hashes',
  render: ({ record, analysis, inputHash }) => [
    html`<p>
      <span class="line">frozen file <code>${record.hash}</code></span>
      <span class="line">analysed input <code>${inputHash}</code></span>
      <span class="line">procedures version <code>${analysis.version}</code></span>
    </p>`,
    note('Equal inputs give equal hashes; `coevolve experiment rerun <cell> --check` plays a cell again and compares.'),
    html`<pre>${JSON.stringify(record.manifest, null, 2)}</pre>`,
    table({
      caption: 'Cells',
      head: ['cell', 'status', 'origin', 'content hash', 'test set'],
      textColumns: 5,
      rows: record.cells.map((cell) => [
        `${cell.arm}-s${cell.seed}`,
        cell.status === 'finished' ? 'finished' : `missing: ${cell.reason ?? ''}`,
        cell.imported ? 'imported' : 'played here',
        html`<code>${shortHash(cell.contentHash)}</code>`,
        html`<code>${shortHash(cell.testHash)}</code>`,
      ]),
    }),
  ],
});
