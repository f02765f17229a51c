import { WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import { DomainError } from '../../domain/base/errors';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { hasEnded } from '../../store/campaign/campaigns';
import { printResult, say } from '../base/output';
import { reconcileCampaign, type Reconciled } from '../../client/reconcile-campaign';
import { withSession, type Session } from '../../client/session';

type Options = { all?: boolean; force?: boolean; json?: boolean };

/** `coevolve reconcile <campaign> | --all`: what Temporal does not run goes on from the database; safe to repeat. */
export function addReconcile(program: Command): void {
  program
    .command('reconcile [campaign]')
    .description('start campaigns that Temporal does not run again, from what the database holds; safe to repeat')
    .option('--all', 'every campaign that has not ended')
    .option('--force', 'also one that runs: its workflow is ended first, and what it has at work is done again')
    .option('--json', 'print the result as JSON')
    .action((name: string | undefined, options: Options) =>
      withSession((session) => reconcile(session, name, options)),
    );
}

async function reconcile(session: Session, name: string | undefined, options: Options): Promise<void> {
  if ((name === undefined) === !options.all)
    throw new DomainError('NoCampaign', 'reconcile: name a campaign, or give --all for every one that has not ended');
  const results =
    name === undefined ? await reconcileAll(session, options) : [await reconcileOne(session, name, options)];
  for (const result of results) say(`${result.name}: ${told(result)}`);
  printResult(options.json, results, () => results.map((result) => campaignWorkflowId(result.name)).join('\n'));
}

async function reconcileAll(session: Session, { force = false }: Options): Promise<Reconciled[]> {
  const open = (await session.store.campaigns.list()).filter(({ status }) => !hasEnded(status));
  const results: Reconciled[] = [];
  for (const row of open) results.push(await reconcileCampaign(session, row, force));
  return results;
}

async function reconcileOne(session: Session, name: string, { force = false }: Options): Promise<Reconciled> {
  const row = await session.store.campaigns.find(name);
  if (row) return reconcileCampaign(session, row, force);
  if (force && (await endOrphan(session, name))) return { name, outcome: 'ended', iteration: null, epoch: null };
  return reconcileCampaign(session, await session.store.campaigns.getByName(name), force); // says that there is none
}

/** Ends the workflow of a campaign that the database does not have; false when none runs. */
async function endOrphan(session: Session, name: string): Promise<boolean> {
  try {
    const handle = (await session.temporal()).workflow.getHandle(campaignWorkflowId(name));
    await handle.terminate('the database does not have the campaign');
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

function told({ outcome, name, iteration, epoch }: Reconciled): string {
  if (outcome === 'running') return 'it runs, and was left alone';
  if (outcome === 'ended') return 'it has ended';
  return `goes on from iteration ${iteration}, in epoch ${epoch}; follow it with \`coevolve status ${name} --watch\``;
}
