import { UsageError } from '../../errors/errors';
import type { RecordedCell } from '../../domain/experiment/record';
import { isSameExperiment } from '../../specification/experiment/same-experiment';
import type { Connections } from '../connections';
import { readTable } from './read-table';
import { cellLabel } from '../../domain/experiment/experiment';

export type ImportedCells = {
  imported: string[];
  present: string[];
  skipped: string[];
  scores: number;
  /** Commit of the file's experiment, if it is recorded and differs from the commit of the experiment here. */
  otherCommit: string | null;
};

/**
 * Stores the finished cells of an exported table. The whole file is read and checked first; then all cells are stored, or
 * none. A cell that is present with the same content is left as it is, so that a second call changes nothing.
 *
 * @throws DomainError `UnknownExperiment`
 * @throws UsageError  the file is of another frozen experiment, or a cell is present with other content
 */
export async function importCells(
  { store }: Pick<Connections, 'store'>,
  name: string,
  file: string,
): Promise<ImportedCells> {
  const table = await readTable(file);
  const { id, hash, experiment, manifest, cells: present } = await store.experimentRecords.get(name);
  if (!isSameExperiment(table.experiment, experiment))
    throw new UsageError(
      `${file}: hash: found ${table.hash}, expected ${hash}, that of ${name}; ` +
        `freeze the same file first, or import into the experiment that was exported`,
    );
  const finished = table.cells.filter(({ status }) => status === 'finished');
  const played = [...finished, ...present.filter(({ status }) => status === 'finished')];
  const known = new Set(played.map(cellLabel));
  const news = finished.filter((cell) => {
    requireDeclared(cell, experiment.arms.map((arm) => arm.name), experiment.looks.at(-1)!, file); // oxfmt-ignore
    requireScores(cell, table.scores, file);
    requireAdmitted(cell, experiment.arms, known, file);
    return !isPresent(cell, present, file);
  });
  const names = new Set(news.map(cellLabel));
  const scores = table.scores.filter((score) => names.has(cellLabel(score)));
  await store.experimentRecords.saveImported(id, news, scores);
  return {
    imported: [...names],
    present: finished.map(cellLabel).filter((each) => !names.has(each)),
    skipped: table.cells.filter(({ status }) => status === 'missing').map(cellLabel),
    scores: scores.length,
    otherCommit: commitOf(table.manifest) === commitOf(manifest) ? null : commitOf(table.manifest),
  };
}

const commitOf = ({ code }: Record<string, unknown>): string | null =>
  (code as { commit?: string | null } | undefined)?.commit ?? null;

function requireDeclared(cell: RecordedCell, arms: readonly string[], size: number, file: string): void {
  if (!arms.includes(cell.arm))
    throw new UsageError(`${file}: arm of ${cellLabel(cell)}: found ${cell.arm}, expected one of ${arms.join(', ')}`);
  if (cell.seed > size)
    throw new UsageError(`${file}: seed of ${cellLabel(cell)}: found ${cell.seed}, expected at most ${size}`);
}

/** A cell without scores at its last checkpoint would make its contrasts invalid for ever. */
function requireScores(
  cell: RecordedCell,
  scores: readonly { arm: string; seed: number; checkpoint: number }[],
  file: string,
): void {
  // oxfmt-ignore
  const last = cell.checkpoints.at(-1)?.checkpoint;
  const has = scores.some(({ arm, seed, checkpoint }) => arm === cell.arm && seed === cell.seed && checkpoint === last);
  if (!has)
    throw new UsageError(
      `${file}: scores of ${cellLabel(cell)}: found none at checkpoint ${last ?? 'none'}, expected a row per test task; ` +
        `export the cell again with \`coevolve experiment export\``,
    );
}

/** Without the numbers of admitted tasks, an arm that matches this one cannot be played with this seed. */
function requireAdmitted(
  cell: RecordedCell,
  arms: readonly { name: string; matches: string | null }[],
  known: ReadonlySet<string>,
  file: string,
): void {
  if (cell.manifest?.['admitted'] !== undefined) return;
  const labelWith = ({ name }: { name: string }): string => cellLabel({ arm: name, seed: cell.seed });
  const toPlay = arms.find((arm) => arm.matches === cell.arm && !known.has(labelWith(arm)));
  if (toPlay === undefined) return;
  throw new UsageError(
    `${file}: manifest.admitted of ${cellLabel(cell)}: found none, expected the numbers of admitted tasks, which ` +
      `${labelWith(toPlay)} is to match; leave the cells of this seed out of the file and they are played`,
  );
}

/** Returns whether the cell is stored already; another content under its name is refused. */
function isPresent(cell: RecordedCell, present: readonly RecordedCell[], file: string): boolean {
  const stored = present.find(({ arm, seed }) => arm === cell.arm && seed === cell.seed);
  if (stored === undefined) return false;
  if (stored.status === 'finished' && stored.contentHash === cell.contentHash) return true;
  const found = stored.status === 'finished' ? stored.contentHash : `a cell without a result (${stored.reason})`;
  throw new UsageError(
    `${file}: ${cellLabel(cell)}: found ${found} in the database, expected ${cell.contentHash} or no cell; ` +
      `leave the cell out of the file, or import into a new database`,
  );
}
