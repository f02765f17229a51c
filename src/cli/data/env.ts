import { Argument, type Command } from 'commander';
import { createEnvironments } from '../../envs/environments';
import { listEnvironments, type EnvironmentListing } from '../../envs/list-environments';
import { addEnvCheck } from './env-check';
import { installEnvironment, installable, type Installable } from '../../client/install-environment';
import { asCalled } from '../output/called-name';
import { printResult, printMessage } from '../output/output';
import { paint } from '../../tables/terminal-text';
import { currentConfig } from '../../client/connections';
import { number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** `coevolve env list|install|check` */
export function addEnv(program: Command): void {
  const env = program.command('env').description('list, install and check environments');
  env
    .command('list')
    .description('list all environments with availability and capabilities')
    .option('--json', 'print them as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const environments = await listEnvironments(createEnvironments(currentConfig()));
      printResult(json, environments, () => listText(environments));
    });
  env
    .command('install')
    .description('install the dependencies of an environment; safe to repeat')
    .addArgument(new Argument('<name>', 'java: for scienceworld and textworld-express').choices(installable))
    .option('--root <folder>', 'data folder of AppWorld (default: <home>/appworld)')
    .action(async (name: Installable, { root }: { root?: string }) => {
      await installEnvironment(currentConfig(), name, { root, onProgress: printMessage });
    });
  addEnvCheck(env);
}

function listText(environments: readonly EnvironmentListing[]): string {
  const available = environments.filter(({ unavailable }) => unavailable === null);
  const missing = environments.filter(({ unavailable }) => unavailable !== null);
  const reasons = missing.map(({ name, unavailable }) => asCalled(`${name}: ${unavailable}`));
  const listed = terminalTable(available, [
    ...properties('name', 'section', 'sessions', 'capacity'),
    text('splits', ({ capabilities: can }) => can && can.splits.join(', ')),
    number('max turns', ({ capabilities: can }) => can && can.max_turns),
    text('gold', ({ capabilities: can }) => can && yesOrNo(can.gold)),
    text('generator', ({ capabilities: can }) => can && yesOrNo(can.variants)),
    text('compose', ({ capabilities: can }) => can && can.compose),
    text('states', ({ capabilities: can }) => can && yesOrNo(can.states)),
    text('replay', ({ capabilities: can }) => can && can.replay),
  ]);
  return [listed, ...(reasons.length > 0 ? ['', paint.bold('not available here'), ...reasons] : [])].join('\n');
}

const yesOrNo = (can: boolean): string => (can ? 'yes' : 'no');
