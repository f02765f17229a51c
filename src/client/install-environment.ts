import { UsageError } from '../base/errors';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Config } from '../config';
import { say } from '../cli/base/output';

export const installable = ['appworld', 'alfworld', 'java'] as const;
export type Installable = (typeof installable)[number];

/**
 * Runs the project's own installer, which does nothing where it has been done; for AppWorld then its engine's, which
 * downloads the data that nobody but AppWorld may hand out.
 *
 * @param root for AppWorld's data; default: below the stack's home
 * @throws Error naming the step that failed; what it said stands above, on stderr
 */
export async function installEnvironment(config: Config, name: Installable, root?: string): Promise<void> {
  const { projectRoot, home } = config;
  if (root !== undefined && name !== 'appworld')
    throw new UsageError(`--root: found a folder, expected none for ${name}`);
  say(`installing ${name}: npm run setup -- --with ${name}`);
  await run(process.execPath, [path.join(projectRoot, 'scripts', 'setup.mjs'), '--with', name], projectRoot);
  if (name === 'appworld') await installAppworldData(projectRoot, path.resolve(root ?? path.join(home, 'appworld')));
  say(`${told[name]}; then \`coevolve up\` again, and \`coevolve env list\` shows it`);
}

const told: Record<Installable, string> = {
  appworld: 'installed',
  alfworld: 'installed: set hosted.alfworld.data in the file of COEVOLVE_ENVIRONMENTS_FILE to the folder of its data',
  java: 'installed: scienceworld and textworld-express have a Java now',
};

async function installAppworldData(projectRoot: string, root: string): Promise<void> {
  say(`downloading AppWorld's data into ${root}`);
  const python = path.join(projectRoot, '.venv-appworld', 'bin', 'python');
  const module = 'coevolve_environments.plugins.appworld.install';
  const sources = path.join(projectRoot, 'environments', 'src');
  await run(python, ['-m', module, '--root', root], projectRoot, { PYTHONPATH: sources }).catch((error: Error) => {
    const next = 'appworld-mini plays without them; try again where the network reaches them';
    throw new UsageError(`AppWorld's engine is installed, its data is not: ${error.message}; ${next}`);
  });
  say(`in the file of COEVOLVE_ENVIRONMENTS_FILE:\nhosted:\n  appworld: { root: ${root} }`);
}

/** Everything that a program says goes to stderr: stdout is for results. */
async function run(file: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<void> {
  const child = spawn(file, args, { cwd, stdio: ['ignore', 2, 2], env: { ...process.env, ...env } });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new UsageError(`\`${path.basename(file)} ${args.join(' ')}\` ended with code ${code}`);
}
