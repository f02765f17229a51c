import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { codeCommit } from '../../src/process/code-version';

test("a package in another project's clone has no commit", async () => {
  const clone = mkdtempSync(path.join(tmpdir(), 'coevolve-clone-'));
  try {
    const git = (...args: string[]) => execFileSync('git', ['-C', clone, ...args], { encoding: 'utf8' }).trim();
    git('init', '--quiet');
    writeFileSync(path.join(clone, 'file'), 'text');
    git('add', '.');
    git('-c', 'user.name=test', '-c', 'user.email=test@localhost', 'commit', '--quiet', '--message', 'Add a file');
    const installed = path.join(clone, 'node_modules', 'coevolve');
    mkdirSync(installed, { recursive: true });
    expect(await codeCommit(clone)).toEqual({ commit: git('rev-parse', 'HEAD'), dirty: false });
    expect(await codeCommit(installed)).toEqual({ commit: null, dirty: null });
  } finally {
    rmSync(clone, { recursive: true });
  }
});
