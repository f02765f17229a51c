import { dateTime, shortHash } from '../../domain/formats';
import { html } from '../../tables/html';
import { code, table, text } from '../../tables/table';
import { note } from '../page/blocks';
import type { Section } from '../page/section';
import { codeOf } from '../../domain/experiment/played-on';
import { earlyCells } from '../../domain/experiment/record';
import type { ExperimentReport } from './report';
import { cellLabel } from '../../domain/experiment/experiment';

/** Amendments, exploratory cells and looks. */
export const amendmentsSection: Section<ExperimentReport> = {
  id: 'amendments',
  title: 'Amendments and exploratory marks',
  body({ record }) {
    const { looks = [] } = record;
    const early = earlyCells(record, Infinity).map(({ cell, reason }) => `${cellLabel(cell)} ${reason}`);
    return [
      record.amendments.length === 0
        ? note('No amendment: one frozen version.')
        : table('Amendments', record.amendments, [
            text('version', (row) => row.version),
            text('frozen', (row) => dateTime(row.frozenAt)),
            code('differences', (row) => row.differences.map((each) => JSON.stringify(each))),
          ]),
      note(early.length === 0 ? 'No cell is exploratory.' : `Exploratory cells: ${early.join('; ')}.`),
      looks.length > 0 &&
        table('Looks at the scores', looks, [
          text('at', (look) => dateTime(look.at)),
          text('seeds', (look) => look.look),
          text('kind', (look) => (look.exploratory ? 'exploratory' : 'declared')),
          text('differences', (look) => (look.shown ? 'shown' : 'hidden')),
          code('input', (look) => shortHash(look.inputHash)),
        ]),
    ];
  },
};

/** Keys in which the arms differ from the base. */
export const differencesSection: Section<ExperimentReport> = {
  id: 'differences',
  title: 'How the arms differ',
  body: ({ record }) =>
    table('Keys whose values differ from the base', record.experiment.arms.flatMap(differencesOf), [
      text('arm', (row) => row.name),
      code('key', (row) => row.key),
      code('base', (row) => row.base),
      code('arm’s value', (row) => row.own),
    ]),
};

type Arm = ExperimentReport['record']['experiment']['arms'][number];

const differencesOf = ({ name, replicaOf, differences }: Arm) =>
  differences.length === 0
    ? [{ name, key: replicaOf === null ? 'none: the base' : `none: repeats ${replicaOf}`, base: '', own: '' }]
    : differences.map(({ key, base, arm }) => ({ name, key, base: shown(base), own: shown(arm) }));

const shown = (value: unknown): string => JSON.stringify(value) ?? 'unset';

/** Hashes of the promise, the analysis and each cell. */
export const manifestSection: Section<ExperimentReport> = {
  id: 'manifest',
  title: 'Manifest and hashes',
  body: ({ record, analysis, inputHash }) => [
    html`<p>
      <span class="line">frozen file <code>${record.hash}</code></span>
      <span class="line">analysed input <code>${inputHash}</code></span>
      <span class="line">procedures version <code>${analysis.version}</code></span>
    </p>`,
    note('Equal inputs give equal hashes; `coevolve experiment rerun <cell> --check` plays a cell again and compares.'),
    html`<pre>${JSON.stringify(shortManifest(record.manifest), null, 2)}</pre>`,
    table('Cells', record.cells, [
      text('cell', cellLabel),
      text('status', (cell) => (cell.status === 'finished' ? 'finished' : `missing: ${cell.reason ?? ''}`)),
      text('origin', (cell) => (cell.imported ? 'imported' : 'played here')),
      text('processor', ({ manifest }) => manifest?.playedOn?.processor ?? null),
      code('code', ({ manifest }) => (manifest?.playedOn ? codeOf(manifest.playedOn) : null)),
      code('content hash', (cell) => shortHash(cell.contentHash)),
      code('test set', (cell) => shortHash(cell.testHash)),
    ]),
  ],
};

/** The cells that were there before the freeze are counted: they may be hundreds of hashes. */
const shortManifest = ({ before, ...manifest }: ExperimentReport['record']['manifest']) =>
  before === undefined ? manifest : { ...manifest, before: { ...before, cells: before.cells.length } };
