import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { Config } from '../config';
import { StackError } from '../errors/errors';
import type { Store } from '../store';

/** The connections and the settings that an export reads with. */
export type ExportSource = { config: Config; pool: Pool; store: Store };

/** A written file: its path in the folder, its rows (samples, in a log of Inspect) and its bytes. */
export type WrittenFile = z.infer<typeof writtenFiles>[number];

const writtenFiles = z.array(z.strictObject({ path: z.string(), rows: z.int(), bytes: z.int() }));

type Root = Pick<Config, 'projectRoot'>;

/** Separate environments of optional Python packages, by their names in the set-up. */
export type PythonExtra = 'export' | 'trackers';

const setupOf = (extra: PythonExtra): string => `npm run setup -- --with ${extra}`;
const pythonOf = ({ projectRoot }: Root, extra: PythonExtra): string =>
  path.join(projectRoot, `.venv-${extra}`, 'bin', 'python');

/** @throws StackError when the optional Python packages are not installed */
export function requireExports(root: Root, extra: PythonExtra = 'export'): void {
  const python = pythonOf(root, extra);
  if (!existsSync(python))
    throw new StackError(`the packages of this format are missing: found no ${python}`, setupOf(extra));
}

/** Starts `python -m coevolve_exports` with pipes for its input and output. */
export const startExports = (root: Root, extra: PythonExtra, args: readonly string[]): ExportsProcess =>
  spawn(pythonOf(root, extra), ['-m', 'coevolve_exports', ...args], {
    cwd: path.join(root.projectRoot, 'exports', 'src'), // where -m finds the package
    stdio: ['pipe', 'pipe', 'pipe'],
  });

export type ExportsProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** Returns the error of a process that ended with `code`, from the last line that it wrote to stderr. */
export function exportsError(root: Root, extra: PythonExtra, code: number | null, line: string): Error {
  if (line.includes('No module named')) return new StackError(`${pythonOf(root, extra)}: ${line}`, setupOf(extra));
  return new Error(`coevolve_exports failed with code ${code}: ${line}`);
}

/**
 * Runs `python -m coevolve_exports` with text as its input, which is streamed, and returns the files that it wrote.
 *
 * @throws StackError when its packages are not installed
 */
export async function runExports(
  root: Root,
  command: 'parquet' | 'inspect',
  input: Iterable<string> | AsyncIterable<string>,
): Promise<WrittenFile[]> {
  const child = startExports(root, 'export', [command]);
  const output = textOf(child.stdout);
  const errors = textOf(child.stderr);
  // An error of a pipe that the process closed is no reason: its exit code and its stderr are.
  const fed = pipeline(Readable.from(input), child.stdin).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
  const [[code]] = await Promise.all([once(child, 'close') as Promise<[number | null]>, fed]).catch(
    (error: unknown) => {
      child.kill();
      throw error;
    },
  );
  if (code === 0) return writtenFiles.parse(JSON.parse(await output));
  throw exportsError(root, 'export', code, (await errors).trim().split('\n').at(-1) ?? '');
}

async function textOf(stream: Readable): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
