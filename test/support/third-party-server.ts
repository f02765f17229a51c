import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './environment-server';

const projectRoot = path.resolve(__dirname, '../..');
const python = path.join(projectRoot, '.venv-openenv/bin/python');

/** The official package has a separate environment; without it, tests with third-party servers are skipped. */
export const hasOpenEnv = existsSync(python);

export const whyNot = 'no .venv-openenv: `npm run setup -- --with openenv` installs the official OpenEnv package';

export type ThirdPartyServer = { url: string; kill(): Promise<void> };

/** Starts the guessing game of third_party_openenv.py on a free port. */
export async function startThirdPartyServer(...options: string[]): Promise<ThirdPartyServer> {
  const port = await freePort();
  const program = path.join(__dirname, 'third_party_openenv.py');
  const server = spawn(python, [program, '--port', String(port), ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  const log: string[] = [];
  server.stderr.on('data', (data: Buffer) => log.push(data.toString()));
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/health`).catch(() => undefined))?.ok) {
    if (server.exitCode !== null) throw new Error(`the third-party server exited: ${log.join('')}`);
    await sleep(50);
  }
  return {
    url,
    async kill() {
      server.kill('SIGKILL');
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    },
  };
}
