import { InvalidArgumentError, type Command } from 'commander';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import type { CampaignSpec } from '../../spec/campaign-spec';
import { forkSpec, type ForkRequest } from '../../spec/fork-spec';
import { specHash } from '../../spec/read-spec';
import { hasEnded } from '../../store/campaign/campaigns';
import { forkCampaign } from '../../store/campaign/fork-campaign';
import { rebuildState } from '../../store/campaign/rebuild-state';
import { printResult, say } from '../base/output';
import { operatorName, withSession, type Session } from '../../client/session';
import { requireStartable, startWorkflow } from '../../client/start-campaign';

type Options = { fromIteration: number; name: string; set: string[]; json?: boolean };

/** `coevolve fork <campaign>`: another campaign that goes on from one of its iterations; safe to repeat. */
export function addFork(program: Command): void {
  program
    .command('fork <campaign>')
    .description('start a campaign that goes on from a finished iteration of another; safe to repeat')
    .requiredOption('--from-iteration <k>', 'the last iteration that it takes over', iterationNumber)
    .requiredOption('--name <name>', 'what the fork is called')
    .option('--set <change...>', 'what it does otherwise from then on, as training.dpo.beta=0.2', [])
    .option('--json', 'print the result as JSON')
    .action((source: string, { fromIteration: iteration, name, set: changes, json }: Options) =>
      withSession(async (session) => {
        const forked = await fork(session, source, { iteration, name, changes });
        say(`${told[forked.outcome]}; follow it with \`coevolve status ${name} --watch\``);
        printResult(json, forked, () => forked.workflowId);
      }),
    );
}

const told = {
  started: 'started',
  joined: 'it was forked before, and goes on',
  ended: 'it was forked before, and has ended',
} as const;

/** @throws DomainError of `forkSpec`, `forkCampaign` and `requireStartable` */
async function fork(session: Session, sourceName: string, request: ForkRequest) {
  const { store, pool } = session;
  const { iteration, name } = request;
  const source = await store.campaigns.getByName(sourceName);
  const spec = forkSpec(source.spec as CampaignSpec, request);
  const nondeterminism = await requireStartable(session, spec);
  const { id } = await forkCampaign(pool, {
    ...{ source, iteration, name, spec, specHash: specHash(spec) },
    actor: operatorName(),
  });
  await store.campaigns.addNondeterminism(id, nondeterminism);
  const forked = { workflowId: campaignWorkflowId(name), forkedFrom: sourceName, fromIteration: iteration };
  if (hasEnded((await store.campaigns.get(id)).status)) return { ...forked, outcome: 'ended' as const };
  // A crash may have come between the rows and the workflow, so it is started whoever made the rows.
  const started = await startWorkflow(session, await rebuildState(pool, id));
  return { ...forked, outcome: started ? ('started' as const) : ('joined' as const) };
}

function iterationNumber(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected the number of an iteration, 0 for the supervised start.');
}
