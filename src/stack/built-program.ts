import { existsSync } from 'node:fs';
import path from 'node:path';
import { StackError } from '../errors/errors';
import type { Config } from '../config';

/** The compiled command line, which workers and the supervisor run. */
export const builtProgram = ({ projectRoot }: Config): string => path.join(projectRoot, 'dist', 'cli', 'main.js');

/** @throws StackError when the project is not built */
export function requireBuilt(config: Config): void {
  const program = builtProgram(config);
  if (!existsSync(program)) throw new StackError(`the project is not built: found no ${program}`, 'npm run build');
}
