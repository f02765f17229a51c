import { Argument, type Command } from 'commander';
import pc from 'picocolors';
import { createEnvironments } from '../../envs/environments';
import { listEnvironments, type EnvironmentListing } from '../../envs/list-environments';
import { addEnvCheck } from './env-check';
import { installEnvironment, installable, type Installable } from '../../client/install-environment';
import { printResult, say, table } from '../base/output';
import { currentConfig } from '../../client/session';

/** `coevolve env list|install|check`: the environments that campaigns are played in. */
export function addEnv(program: Command): void {
  const env = program.command('env').description('list environments, install what they need, check one by playing it');
  env
    .command('list')
    .description('list every environment: whether it can be played here, and what it can do')
    .option('--json', 'print them as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const environments = await listEnvironments(createEnvironments(currentConfig()));
      printResult(json, environments, () => listText(environments));
    });
  env
    .command('install')
    .description('install what an environment needs beside the product; safe to repeat')
    .addArgument(new Argument('<name>', 'java stands for scienceworld and textworld-express').choices(installable))
    .option('--root <folder>', "of appworld: where its data is put (default: appworld in the stack's home)")
    .action(async (name: Installable, { root }: { root?: string }) => {
      await installEnvironment(currentConfig(), name, { root, onProgress: say });
    });
  addEnvCheck(env);
}

function listText(environments: readonly EnvironmentListing[]): string {
  const here = environments.filter(({ unavailable }) => unavailable === null);
  const missing = environments.filter(({ unavailable }) => unavailable !== null);
  const rows = here.map(({ name, section, sessions, capacity, capabilities: can }) => [
    ...[name, section, sessions, capacity],
    ...(can
      ? [can.splits.join(', '), can.max_turns, word(can.gold), word(can.variants), word(can.compose), can.replay]
      : [null, null, null, null, null, null]),
  ]);
  const head = [
    'name',
    'section',
    'sessions',
    'capacity',
    'splits',
    'max steps',
    'gold',
    'variants',
    'compose',
    'replay',
  ];
  const reasons = missing.map(({ name, unavailable }) => `${name}: ${unavailable}`);
  return [table(head, rows), ...(reasons.length > 0 ? ['', pc.bold('not available here'), ...reasons] : [])].join('\n');
}

const word = (can: boolean): string => (can ? 'yes' : 'no');
