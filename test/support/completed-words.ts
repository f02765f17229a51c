import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { variablesOf, type Config } from '../../src/config';

const program = path.resolve(__dirname, '../../dist/cli/main.js');

/** Returns the words that a bash with our completion offers after `coevolve <words>`; the last word may be empty. */
export async function completedWords(config: Config, words: readonly string[]): Promise<string[]> {
  const bin = mkdtempSync(path.join(tmpdir(), 'coevolve-completion-'));
  symlinkSync(program, path.join(bin, 'coevolve'));
  const script = `set -e
    source <(coevolve completion bash)
    COMP_WORDS=(coevolve "$@") COMP_CWORD=$#
    _coevolve || true # no word
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...variablesOf(config), PATH: `${bin}:${path.dirname(process.execPath)}:/usr/bin:/bin` };
  try {
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script, 'bash', ...words], { env });
    return stdout.split('\n').filter(Boolean);
  } finally {
    rmSync(bin, { recursive: true });
  }
}
