import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import type { z } from 'zod';
import { canonicalJson } from '../../domain/canonical-json';
import { describeIssue } from '../../input/describe-issue';
import { UsageError } from '../../errors/errors';
import { parseExact } from '../../input/exact-json';
import { strangeValues } from '../../input/parse-yaml';
import type { ExperimentRecord } from '../../domain/experiment/record';
import { experimentHash } from '../../specification/experiment/same-experiment';
import type { ExperimentSource } from '../../specification/experiment/read-experiment';
import { cellLine, experimentLine, scoreLine } from './table-lines';
import { cellLabel } from '../../domain/experiment/experiment';

/** More rows than 80 cells with 13 checkpoints of 1,000 tasks. */
const maxLines = 2_000_000;

const unpackers = new Map([
  ['.gz', createGunzip],
  ['.br', createBrotliDecompress],
]);

/**
 * Reads an exported table: the experiment, its cells, its scores. A file `.gz` or `.br` is unpacked.
 *
 * @throws UsageError with the line, the field, the value found and the value expected
 */
export async function readTable(file: string): Promise<ExperimentRecord> {
  const cells: ExperimentRecord['cells'][number][] = [];
  const scores: ExperimentRecord['scores'][number][] = [];
  let frozen: Omit<ExperimentRecord, 'cells' | 'scores'> | undefined;
  let number = 0;
  for await (const text of linesOf(file)) {
    const at = `${file}:${++number}`;
    if (number > maxLines) throw new UsageError(`${at}: found more lines, expected at most ${maxLines}`);
    const value = exactly(text, at);
    if (frozen === undefined) frozen = withoutKind(read(experimentLine, value, at));
    else if (isKind(value, 'cell')) cells.push(withoutKind(read(cellLine, value, at)));
    else scores.push(withoutKind(read(scoreLine, value, at)));
  }
  if (frozen === undefined)
    throw new UsageError(`${file}: found no line, expected an experiment; \`coevolve experiment export\` writes one`);
  return checked({ ...frozen, cells, scores }, file);
}

/** Returns whether a file has the name of an exported table. */
export const isTable = (file: string): boolean => /\.jsonl(\.(gz|br))?$/.test(file);

/**
 * Reads the frozen experiment of an exported table with every value written out, also those that later releases have other
 * defaults for: it can be frozen again under its hash.
 *
 * @throws UsageError as `readTable`
 */
export async function readFrozen(file: string): Promise<ExperimentSource> {
  const { experiment, profile } = await readTable(file);
  return { experiment, profile, source: canonicalJson(experiment) };
}

async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    const bytes = createReadStream(file);
    // The reader below gets an error of either stream.
    const unpack = unpackers.get(path.extname(file));
    const input = unpack ? pipeline(bytes, unpack(), () => undefined) : bytes;
    let isFirst = true;
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      if (line.trim() !== '') yield isFirst ? line.replace(/^\uFEFF/, '') : line; // the mark of an editor
      isFirst = false;
    }
  } catch (error) {
    throw new UsageError(`${file}: cannot be read (${error instanceof Error ? error.message : String(error)})`);
  }
}

/** @throws UsageError for a line that is not JSON, or of which the database would store something else */
function exactly(text: string, at: string): unknown {
  const row = parseExact(text);
  const strange = 'value' in row && mayBeStrange.test(text) ? strangeValues(row.value) : [];
  if ('problem' in row || strange.length > 0)
    throw new UsageError(`${at}: ${'problem' in row ? row.problem : strange.join('; ')}`);
  return row.value;
}

const mayBeStrange = /\\u(?:0000|d[89a-f])/i;

const isKind = (value: unknown, kind: string): boolean =>
  value instanceof Object && 'kind' in value && value.kind === kind;

function read<T>(schema: z.ZodType<T>, value: unknown, at: string): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new UsageError(`${at}: ${describeIssue(error.issues[0]!, schema, value).join('; ')}`);
}

function withoutKind<T extends { kind: string }>({ kind: _, ...rest }: T): Omit<T, 'kind'> {
  return rest;
}

/** Cells and scores must agree, and the experiment must have its hash. */
function checked(record: ExperimentRecord, file: string): ExperimentRecord {
  const hash = experimentHash(record.experiment);
  if (hash !== record.hash)
    throw new UsageError(
      `${file}: hash: found ${record.hash}, expected ${hash}, the hash of the experiment in the file`,
    );
  const names = new Set<string>();
  for (const name of record.cells.map(cellLabel)) {
    if (names.has(name)) throw new UsageError(`${file}: cell ${name}: found twice, expected once`);
    names.add(name);
  }
  const rows = new Set<string>();
  for (const score of record.scores) {
    const name = cellLabel(score);
    if (!names.has(name))
      throw new UsageError(`${file}: score of ${name}: found no cell of this name, expected a line of kind cell`);
    const row = `${name}, checkpoint ${score.checkpoint}, task ${score.task}`;
    if (rows.has(row)) throw new UsageError(`${file}: score of ${row}: found twice, expected once`);
    rows.add(row);
  }
  return record;
}
