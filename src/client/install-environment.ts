import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { UsageError } from '../errors/errors';
import type { Config } from '../config';
import { runSetup } from '../process/run-setup';

export const installable = ['appworld', 'alfworld', 'java'] as const;
export type Installable = (typeof installable)[number];

type InstallOptions = {
  /** Folder for AppWorld's data; default: `appworld` in the home. */
  root?: string | undefined;
  onProgress: (line: string) => void;
};

/**
 * Runs the project's installer, which skips completed steps. For AppWorld it then runs the engine's installer, which
 * downloads the data: only AppWorld may distribute it. The programs write to stderr.
 *
 * @throws UsageError with the failed step
 */
export async function installEnvironment(
  config: Config,
  name: Installable,
  { root, onProgress }: InstallOptions,
): Promise<void> {
  const { projectRoot, home } = config;
  if (root !== undefined && name !== 'appworld')
    throw new UsageError(`--root: found a folder, expected none for ${name}`);
  onProgress(`installing ${name}: npm run setup -- --with ${name}`);
  await runSetup(projectRoot, [name]);
  if (name === 'appworld') {
    const folder = path.resolve(root ?? path.join(home, 'appworld'));
    onProgress(`downloading AppWorld's data into ${folder}`);
    await installAppworldData(projectRoot, folder);
    onProgress(`in the file of COEVOLVE_ENVIRONMENTS_FILE:\nhosted:\n  appworld: { root: ${folder} }`);
  }
  onProgress(`${results[name]}; run \`coevolve up\` again, then \`coevolve env list\``);
}

const results: Record<Installable, string> = {
  appworld: 'installed',
  alfworld: 'installed: set hosted.alfworld.data in the file of COEVOLVE_ENVIRONMENTS_FILE to the folder of its data',
  java: 'installed: Java for scienceworld and textworld-express',
};

async function installAppworldData(projectRoot: string, root: string): Promise<void> {
  const python = path.join(projectRoot, '.venv-appworld', 'bin', 'python');
  const module = 'coevolve_environments.plugins.appworld.install';
  const sources = path.join(projectRoot, 'environments', 'src');
  await run(python, ['-m', module, '--root', root], projectRoot, { PYTHONPATH: sources }).catch((error: Error) => {
    const next = 'repeat with network access, or run `coevolve up` and use appworld-mini, which needs no data';
    throw new UsageError(`AppWorld's engine is installed, but its data is not: ${error.message}; ${next}`);
  });
}

/** Connects all output of the program to stderr: stdout is for results. */
async function run(file: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<void> {
  const child = spawn(file, args, { cwd, stdio: ['ignore', 2, 2], env: { ...process.env, ...env } });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new UsageError(`\`${path.basename(file)} ${args.join(' ')}\` exited with code ${code}`);
}
