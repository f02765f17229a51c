import { createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { UsageError } from '../../errors/errors';
import { completeLook, type ExperimentRecord } from '../../domain/experiment/record';
import { exportFiles, type ExportFormat } from '../../report/experiment';
import type { Connections } from '../connections';
import { analyzeExperiment } from './analyze-experiment';
import { cellLabel, type CellName } from '../../domain/experiment/experiment';

export type ExportRequest = {
  formats: readonly ExportFormat[];
  /** Names of cells, as `signals-s3`, or null for all cells. */
  cells: readonly string[] | null;
  folder: string;
};

/**
 * Writes files of an experiment and returns their paths. Formats with verdicts need a complete look.
 *
 * @throws UsageError a cell is unknown, or nothing can be written yet
 */
export async function exportExperiment(
  connections: Pick<Connections, 'config' | 'pool' | 'store'>,
  name: string,
  { formats, cells, folder }: ExportRequest,
): Promise<string[]> {
  const { id: _, ...whole } = await connections.store.experimentRecords.get(name);
  const record = cells === null ? whole : onlyCells(whole, cells);
  // the analysis reads all cells, so that a part of them has no verdict of its own
  const hasVerdicts = cells === null && formats.some((format) => format !== 'jsonl') && completeLook(whole) !== null;
  const report = hasVerdicts ? await analyzeExperiment(connections, name, { at: null, exploratory: false }) : null;
  const files = formats.flatMap((format) => {
    const found = exportFiles(format, report?.record ?? record, report);
    if (found.length > 0) return found;
    throw new UsageError(
      `--format: found ${format}, which has verdicts, expected jsonl or csv until a declared look is complete and ` +
        `without --cells; \`coevolve experiment analyze ${name} --exploratory\` shows completeness`,
    );
  });
  await mkdir(folder, { recursive: true });
  for (const { name: file, content } of files) await writeFileWhole(path.join(folder, file), content);
  return files.map((file) => path.join(folder, file.name));
}

function onlyCells(record: ExperimentRecord, names: readonly string[]): ExperimentRecord {
  const known = new Set(record.cells.map(cellLabel));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new UsageError(`--cells: found ${unknown}, expected some of ${[...known].join(', ') || 'no cell yet'}`);
  const isNamed = (cell: CellName): boolean => names.includes(cellLabel(cell));
  return { ...record, cells: record.cells.filter(isNamed), scores: record.scores.filter(isNamed) };
}

/** Readers see no file, the old one, or the whole one; a long table is never one string in memory. */
async function writeFileWhole(file: string, content: string | Iterable<string>): Promise<void> {
  const staging = `${file}.${process.pid}.part`;
  const chunks = typeof content === 'string' ? [content] : content;
  await pipeline(Readable.from(chunks), createWriteStream(staging, { flush: true }));
  await rename(staging, file);
}
