import type { Command } from 'commander';
import { restartExperiments } from '../../client/experiments/start-experiment';
import { reconcileAll, reconcileCampaign, type Reconciled } from '../../client/reconcile/reconcile-campaign';
import { withConnections, type Connections } from '../../client/connections';
import { DomainError } from '../../domain/errors';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { printResult, printMessage } from '../output/output';

type Options = { all?: boolean; force?: boolean; json?: boolean };

/** `coevolve reconcile <campaign> | --all` */
export function addReconcile(program: Command): void {
  program
    .command('reconcile [campaign]')
    .description('restart campaigns from the database when Temporal does not run them; safe to repeat')
    .option('--all', 'every campaign and experiment that has not ended')
    .option('--force', 'also terminate and restart a running workflow; its unfinished work is repeated')
    .option('--json', 'print the result as JSON')
    .action((name: string | undefined, options: Options) =>
      withConnections((connections) => reconcile(connections, name, options)),
    );
}

async function reconcile(
  connections: Connections,
  name: string | undefined,
  { all, force = false, json }: Options,
): Promise<void> {
  if ((name === undefined) === !all)
    throw new DomainError(
      'NoCampaign',
      'reconcile: name a campaign, or add --all for every campaign that has not ended',
    );
  const results =
    name === undefined ? await reconcileAll(connections, force) : [await reconcileCampaign(connections, name, force)];
  const experiments = name === undefined ? await restartExperiments(connections) : [];
  for (const each of experiments)
    printMessage(`experiment ${each}: continues; follow it with \`coevolve experiment status ${each} --watch\``);
  for (const result of results) printMessage(result.problem ?? `${result.name}: ${outcomeText(result)}`);
  if (results.some(({ outcome }) => outcome === 'blocked')) process.exitCode = 1;
  printResult(json, results, () => results.map((result) => campaignWorkflowId(result.name)).join('\n'));
}

function outcomeText({ outcome, name, iteration, epoch, unusable, abandoned }: Reconciled): string {
  const left = abandoned > 0 ? `; ${abandoned} workflows that nothing waited for were ended` : '';
  if (outcome === 'running') return `is running and was not changed${left}`;
  if (outcome === 'ended') return `has ended${left}`;
  const again = unusable > 0 ? `, plays ${unusable} attempts again` : '';
  return `continues from iteration ${iteration} in epoch ${epoch}${again}${left}; follow it with \`coevolve status ${name} --watch\``;
}
