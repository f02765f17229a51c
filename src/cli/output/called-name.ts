import { existsSync } from 'node:fs';
import path from 'node:path';

const projectRoot = path.resolve(__dirname, '../../..');

type Call = Pick<NodeJS.Process, 'argv' | 'env' | 'cwd'>;

/** Returns the words that start this program here: hints and the help print them before a command. */
export function calledName({ argv, env, cwd }: Call = process): string {
  const program = argv[1] ?? '';
  if (env['npm_command'] === 'exec') return 'npx coevolve';
  const folders = (env['PATH'] ?? '').split(path.delimiter);
  if (path.basename(program) === 'coevolve' && folders.includes(path.dirname(program))) return 'coevolve';
  const isInClone = !path.relative(projectRoot, cwd()).startsWith('..');
  if (isInClone) return 'npx coevolve';
  return path.extname(program) === '.js' ? `node ${program}` : program;
}

/** The package from npm has no sources, and its user has no scripts of ours. */
const isClone = existsSync(path.join(projectRoot, 'src'));

/** Replaces the program's name in the commands of a message by the name that works here. */
export function asCalled(text: string): string {
  const named = text.replaceAll(hint, (_, before: string) => `${before}${calledName()} `);
  return isClone ? named : withOwnSetup(named, calledName());
}

/** Replaces the script of set-up by the command `setup`. */
export const withOwnSetup = (text: string, program: string): string =>
  text.replaceAll(/npm run setup( --(?= ))?/g, `${program} setup`);

/** A command in backticks, at the start of a line, or after a word that introduces one. */
const hint = /(^|`|next:? |then |run |; )coevolve (?=[a-z-])/gm;
