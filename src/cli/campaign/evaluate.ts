import { InvalidArgumentError, type Command } from 'commander';
import { UsageError } from '../../errors/errors';
import { count, counted, dollars } from '../../domain/formats';
import { readPrice } from '../../client/choose-model';
import { listModelSpending, type ModelSpending } from '../../store/spending/model-spending';
import { runCheck } from '../../client/campaign-run';
import { choosePolicy } from '../../client/choose-policy';
import { followCampaign } from '../../client/follow-campaign';
import { withConnections, type Connections } from '../../client/connections';
import { startCampaign } from '../../client/start-campaign';
import { DomainError } from '../../domain/errors';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { evaluationSpec } from '../../specification/evaluation-spec';
import { readChange } from '../../specification/read-change';
import { trainedOn, type SetScore } from '../../store/training/set-scores';
import { asCalled } from '../output/called-name';
import { followOutput } from '../output/follow-output';
import { printMessage, printResult } from '../output/output';
import { groupScoresText, setScoresText } from '../output/set-scores-text';

type Options = {
  on?: string;
  option: string[];
  tasks?: number;
  iteration?: number;
  role?: string;
  model?: string;
  price?: string;
  usd?: number;
  seed?: number;
  name?: string;
  json?: boolean;
};

/**
 * `coevolve evaluate <policy>`: plays a stored policy, or a language model of a provider, on an environment or on a campaign's
 * evaluation sets.
 */
export function addEvaluate(program: Command): void {
  program
    .command('evaluate <policy>')
    .description('score a policy (of a campaign, imported, or by hash) or <provider>/<model>; safe to repeat')
    .option('--on <environment-or-set>', 'environment, or a set of the campaign (default: all its sets)')
    .option('--option <change...>', 'options of the environment, such as held_out=test', [])
    .option('--tasks <n>', 'number of tasks to draw', wholeNumber)
    .option('--iteration <k>', 'policy of this iteration, not the active one', wholeNumber)
    .option('--role <role>', 'target, failure, positive, or base: the untrained policy')
    .option('--model <name>', 'language model in place of the policy: <provider>/<model>, or a purpose such as solver')
    .option('--price <in,out>', 'US dollars per million tokens of its prompts and answers')
    .option('--usd <n>', 'budget of its answers in US dollars', dollarsOf)
    .option('--seed <n>', "seed of the draw (default: the campaign's)", wholeNumber)
    .option('--name <name>', 'name under which the scores are stored')
    .option('--json', 'print the scores as JSON')
    .action((subject: string, options: Options) =>
      withConnections(async (connections) => {
        const { spec, set, origin } = await readRequest(connections, subject, options);
        const { outcome } = await startCampaign(connections, spec, (line) => printMessage(`not checked: ${line}`));
        printMessage(
          `${spec.name}: ${origin} on ${spec.environment.name}${outcome === 'ended' ? ', stored before' : ''}`,
        );
        const scores = await scoresOf(connections, spec, set);
        const models = await spendingOf(connections, spec);
        for (const line of trainedLines(scores)) printMessage(line);
        const policyId = spec.policy.id ?? (await activeOf(connections, spec));
        const result = { campaign: spec.name, policyId, environment: spec.environment.name, scores, models };
        printResult(options.json, result, () => [...models.map(modelText), scoresText(scores, spec)].join('\n'));
      }),
    );
}

/** Returns the spec of the evaluation, and the set whose scores are printed, or null for all sets. */
async function readRequest(connections: Connections, subject: string, options: Options) {
  const { on, option, tasks, iteration, role, model: wanted, usd, seed, name } = options;
  const price = options.price === undefined ? undefined : readPrice(options.price);
  const choice = { iteration, role, model: wanted, price };
  const { policyId, model, source, origin } = await choosePolicy(connections, subject, choice);
  if (model === null && (price !== undefined || usd !== undefined))
    throw new UsageError(
      `--price, --usd: found with ${origin}, expected a language model: only its answers cost money`,
    );
  const set = source !== null && on !== undefined && Object.hasOwn(source.evaluation.sets, on) ? on : null;
  if (source === null && on === undefined)
    throw new UsageError(`--on: found nothing, expected an environment: ${origin} has no evaluation sets`);
  if (set !== null && (option.length > 0 || tasks !== undefined))
    throw new UsageError(`--on: found the set ${set}, expected an environment with --option and --tasks`);
  const spec = evaluationSpec({
    policyId,
    model,
    usd: usd ?? null,
    source,
    environment: set === null ? (on ?? null) : null,
    options: optionsOf(option),
    tasks: tasks ?? null,
    seed: seed ?? null,
    name: name ?? null,
  });
  return { spec, set, origin };
}

const prefix = 'environment.options.';

function optionsOf(changes: readonly string[]): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const change of changes) {
    const read = readChange(`${prefix}${change}`);
    if ('problem' in read) throw new UsageError(read.problem.replace('--set', '--option').replaceAll(prefix, ''));
    options[read.path.slice(2).join('.')] = read.value;
  }
  return options;
}

/** Waits until the evaluation has ended and returns its scores. */
async function scoresOf(connections: Connections, { name }: CampaignSpec, set: string | null): Promise<SetScore[]> {
  const { onPhase, ...output } = followOutput(name);
  const status = await followCampaign(connections, name, {
    ...output,
    onPhase: (phase) => (phase.phase === 'evaluate' ? onPhase(phase) : undefined), // the others only prepare it
    check: runCheck(connections, name),
  });
  const { id } = await connections.store.campaigns.getByName(name);
  const all = await connections.store.evaluations.listSetScores(id);
  const scores = set === null ? all : all.filter(({ evaluationSet }) => evaluationSet === set);
  if (status !== 'finished' || scores.length === 0)
    throw new DomainError('NoScore', `evaluate: ${name} is ${status} without a score; see \`coevolve status ${name}\``);
  return scores;
}

/** Returns the calls of the language model that played; empty where a policy played. */
async function spendingOf({ store, pool }: Connections, { name }: CampaignSpec): Promise<ModelSpending[]> {
  return listModelSpending(pool, (await store.campaigns.getByName(name)).id);
}

const activeOf = async ({ store }: Connections, { name }: CampaignSpec): Promise<string | undefined> =>
  (await store.policies.listActive((await store.campaigns.getByName(name)).id)).target;

const modelText = ({ provider, model, calls, tokens, usd }: ModelSpending): string =>
  `${counted(calls, 'answer')} of ${model} of ${provider}: ${count(tokens)} tokens, ${dollars(usd, 4)}`;

/** Warns of tasks on which the policy may have been trained: the whole set's score counts them. */
const trainedLines = (scores: readonly SetScore[]): string[] =>
  scores
    .filter(({ feature, value }) => feature === trainedOn && value === 'yes')
    .map(
      ({ tasks, evaluationSet }) =>
        `warning: ${tasks} tasks of ${evaluationSet} are train tasks of the campaign that trained this policy; ` +
        `see \`${trainedOn}: no\` for its success on the others`,
    );

const scoresText = (scores: readonly SetScore[], { name, evaluation }: CampaignSpec): string =>
  [
    ...setScoresText(scores, evaluation.confidence),
    ...groupScoresText(scores, evaluation.confidence),
    asCalled(`stored as ${name}; \`coevolve report ${name}\` and \`coevolve compare ${name} <campaign>\` read it`),
  ].join('\n\n');

function dollarsOf(text: string): number {
  if (/^\d{1,7}(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected an amount of US dollars, such as 5 or 0.5.');
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number.');
}
