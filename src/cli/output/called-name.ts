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

/** Replaces the program's name in the commands of a message by the name that works here. */
export const asCalled = (text: string): string =>
  text.replaceAll(hint, (_, before: string) => `${before}${calledName()} `);

/** A command in backticks, at the start of a line, or after a word that introduces one. */
const hint = /(^|`|next:? |then |run |; )coevolve (?=[a-z-])/gm;
