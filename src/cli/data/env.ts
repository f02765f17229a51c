import { Argument, type Command } from 'commander';
import { createEnvironments } from '../../envs/environments';
import { listEnvironments, type EnvironmentListing } from '../../envs/list-environments';
import { addEnvCheck } from './env-check';
import { installEnvironment, installable, type Installable } from '../../client/install-environment';
import { asCalled } from '../output/called-name';
import { printResult, printMessage, table } from '../output/output';
import { paint } from '../../tables/terminal-text';
import { currentConfig } from '../../client/connections';

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
  const rows = available.map(({ name, section, sessions, capacity, capabilities: can }) => [
    name,
    section,
    sessions,
    capacity,
    ...(can
      ? [
          can.splits.join(', '),
          can.max_turns,
          yesOrNo(can.gold),
          yesOrNo(can.variants),
          can.compose,
          yesOrNo(can.states),
          can.replay,
        ]
      : Array<null>(7).fill(null)),
  ]);
  const head = [
    'name',
    'section',
    'sessions',
    'capacity',
    'splits',
    'max turns',
    'gold',
    'generator',
    'compose',
    'states',
    'replay',
  ];
  const reasons = missing.map(({ name, unavailable }) => asCalled(`${name}: ${unavailable}`));
  return [table(head, rows), ...(reasons.length > 0 ? ['', paint.bold('not available here'), ...reasons] : [])].join(
    '\n',
  );
}

const yesOrNo = (can: boolean): string => (can ? 'yes' : 'no');
