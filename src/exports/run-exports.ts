import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
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

const setup = 'npm run setup -- --with export';
const pythonOf = ({ projectRoot }: Root): string => path.join(projectRoot, '.venv-export', 'bin', 'python');

/** @throws StackError when the optional Python packages of the exports are not installed */
export function requireExports(root: Root): void {
  const python = pythonOf(root);
  if (!existsSync(python)) throw new StackError(`the packages of this format are missing: found no ${python}`, setup);
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
  const python = pythonOf(root);
  const child = spawn(python, ['-m', 'coevolve_exports', command], {
    cwd: path.join(root.projectRoot, 'exports', 'src'), // where -m finds the package
    stdio: ['pipe', 'pipe', 'pipe'],
  });
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
  const line = (await errors).trim().split('\n').at(-1) ?? '';
  if (line.includes('No module named')) throw new StackError(`${python}: ${line}`, setup);
  throw new Error(`coevolve_exports failed with code ${code}: ${line}`);
}

async function textOf(stream: Readable): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
