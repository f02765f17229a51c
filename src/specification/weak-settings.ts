import { isReinforcement, playsAttempts, recipes, synthesizes } from '../domain/campaign/recipe';
import { count, dollars } from '../domain/formats';
import type { CampaignSpec } from './campaign-spec';
import type { Estimate } from './estimate';
import { evaluationAttempts, evaluationSets } from './evaluation-settings';
import { trainedMethods } from './estimate-training';
import { enabledSignals } from './iteration-plan';

/**
 * Returns one line per setting with which reinforcement learning or synthesis has nothing to learn from: a file with one is
 * refused. A stored campaign keeps it.
 */
export function uselessSettings(
  spec: Pick<CampaignSpec, 'recipe' | 'rollouts' | 'signals' | 'synthesis' | 'evaluation'>,
): string[] {
  const { recipe, rollouts, synthesis, evaluation } = spec;
  const attempts = evaluationAttempts(spec);
  const isGroupRelative = recipes[recipe].training.some(({ method }) => method === 'grpo');
  const isGuided =
    synthesizes(spec) &&
    recipes[recipe].iterations > 0 &&
    (synthesis.aims === 'signals' || synthesis.aims === 'shuffled');
  const enabled = enabledSignals(spec as CampaignSpec);
  const isSilent = rollouts.attempts === 1 && enabled.length > 0 && enabled.every((kind) => kind === 'boundary');
  return [
    ...(isGroupRelative && rollouts.attempts === 1
      ? [
          'rollouts.attempts: found 1, expected at least 2: GRPO compares the attempts at a task, and a single one has the advantage 0',
        ]
      : []),
    ...(isReinforcement(recipes[recipe]) && rollouts.attempts > 1 && rollouts.temperature === 0
      ? [
          `rollouts.temperature: found 0, expected more, such as 0.9: the ${rollouts.attempts} attempts at a task would be equal, and there is nothing to choose between`,
        ]
      : []),
    ...(attempts > 1 && evaluation.temperature === 0
      ? [
          `evaluation.attempts: found ${attempts}, expected 1, or evaluation.temperature above 0, such as 0.9: at temperature 0 the attempts at a task would be equal`,
        ]
      : []),
    ...(isGuided && isSilent
      ? [
          'rollouts.attempts: found 1, expected at least 2, or signals.forgetting or signals.rare enabled: boundary flags tasks whose attempts disagree, and a single one disagrees with none',
        ]
      : []),
    ...(isGuided && enabled.length === 0
      ? [
          `synthesis.aims: found ${synthesis.aims}, expected random or none, or one of signals.forgetting, signals.boundary and signals.rare enabled: without a signal no task is synthesized`,
        ]
      : []),
  ];
}

/** McNemar's exact test of two policies needs this many tasks for a p value below 0.05, if one of them alone solves all. */
const fewestTasks = 6;

/** Below this rate a policy from scratch stays as it is: the defaults of reinforcement learning are for models of billions. */
const lowestFromScratch = 1e-5;

/** Returns one line per setting with which a campaign runs, but tells or learns little. */
export function weakSettings(spec: CampaignSpec): string[] {
  const { recipe, rollouts, iterations, training, policy } = spec;
  const idle = trainedMethods(spec).filter((method) => training[method].learningRate < lowestFromScratch);
  const isEqual = rollouts.temperature === 0 && rollouts.attempts > 1;
  const small = evaluationSets(spec).filter(({ tasks }) => tasks < fewestTasks);
  return [
    ...unreadQueries(spec),
    ...(isEqual && iterations > 0 && playsAttempts(recipes[recipe])
      ? [
          `rollouts.temperature: 0 makes the ${rollouts.attempts} attempts at a task equal; set rollouts.attempts to 1, or a temperature such as 0.9`,
        ]
      : []),
    ...(policy.source === 'scratch'
      ? idle.map(
          (method) =>
            `training.${method}.learningRate: ${training[method].learningRate} changes nothing in a policy from scratch; 3e-4 suits it`,
        )
      : []),
    ...(small.length > 0
      ? [
          `environment.heldOutTasks: ${small.map(({ name, tasks }) => `${name} has ${tasks}`).join(', ')} of its tasks, and with fewer than ${fewestTasks} no difference between two policies can be significant`,
        ]
      : []),
  ];
}

/** Votes on the queries of a model that are missing or that cannot be trusted. */
function unreadQueries(spec: CampaignSpec): string[] {
  const { llm, judge, synthesis } = spec;
  if (!llm || !synthesizes(spec)) return [];
  const { rule, validation } = synthesis;
  const unread =
    validation === 'off'
      ? 'synthesis.validation: off'
      : rule === 'strict' || rule === 'paper'
        ? `synthesis.rule: ${rule}`
        : null;
  if (unread !== null)
    return [
      `${unread} admits queries of a language model that their actions do not answer, because nothing reads them; rule solvable has a model solve them`,
    ];
  return judge.calibrationTasks < 2
    ? [
        `judge.calibrationTasks: with ${judge.calibrationTasks} no judge is better than chance; where its verdicts would admit tasks the campaign parks`,
      ]
    : [];
}

/** Returns one line per limit of the budget that the estimated campaign exceeds, where it would park. */
export function lowBudget({ budget }: CampaignSpec, { models, training }: Estimate): string[] {
  const usd = (models?.usd ?? 0) + (training.usd ?? 0);
  const tokens = models?.tokens ?? 0;
  const line = (key: string, limit: string, expected: string): string =>
    `budget.${key}: ${limit} is less than the ${expected} that the campaign is estimated to need; it parks there until \`coevolve budget raise\``;
  return [
    ...(budget.usd !== null && budget.usd < usd ? [line('usd', dollars(budget.usd, 2), dollars(usd, 2))] : []),
    ...(budget.llmTokens !== null && budget.llmTokens < tokens
      ? [line('llmTokens', count(budget.llmTokens), count(tokens))]
      : []),
  ];
}
