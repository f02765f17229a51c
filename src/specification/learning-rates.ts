import { isOnlyEvaluated } from '../domain/campaign/policy-source';
import { isSection, merge } from '../input/merge';
import type { CampaignSpec } from './campaign-spec';
import { count } from '../domain/formats';

type Policy = Pick<CampaignSpec['policy'], 'source' | 'adapter'>;

/** Defaults of TRL's trainers for whole models; its documentation has ten times as much for adapters. */
const typical = {
  whole: { supervised: 2e-5, preference: 1e-6 },
  adapter: { supervised: 2e-4, preference: 1e-5 },
};

/** Epochs of ETO's supervised start. */
const supervisedEpochs = 3;

/**
 * Merges a spec over the defaults of an imported model. The general defaults suit the embedded policy: its rates are a
 * hundred times higher, and would overwrite the knowledge of a pretrained model.
 */
export function withModelDefaults(input: unknown): unknown {
  const policy = isSection(input) ? input['policy'] : undefined;
  if (!isSection(policy) || policy['source'] !== 'imported') return input;
  const rates = isSection(policy['adapter']) ? typical.adapter : typical.whole;
  const supervised = { epochs: supervisedEpochs, learningRate: rates.supervised };
  const preference = { learningRate: rates.preference };
  return merge({ training: { sft: supervised, rft: supervised, dpo: preference, target: preference } }, input);
}

/** Highest rate of AdamW that is accepted for a policy from scratch: an update moves a weight, at first 0.1 large, by as much. */
const highestFromScratch = 0.1;

/**
 * Highest rate that is accepted for an imported model: 50 times TRL's of supervised training for models below 10^9
 * parameters or of unknown size, five times from there on.
 *
 * @param parameters null if unknown
 */
function highestRate({ adapter }: Policy, parameters: number | null): number {
  const [small, large] = adapter ? [1e-2, 1e-3] : [1e-3, 1e-4];
  return parameters === null || parameters < 1e9 ? small : large;
}

/** Returns a line per learning rate that would destroy a policy, or a model with this number of parameters, or null if unknown. */
export function absurdRates(policy: Policy, training: CampaignSpec['training'], parameters: number | null): string[] {
  if (isOnlyEvaluated(policy)) return [];
  const isScratch = policy.source === 'scratch';
  const highest = isScratch ? highestFromScratch : highestRate(policy, parameters);
  const imported = parameters === null ? 'an imported model' : `a model of ${count(parameters)} parameters`;
  const model = isScratch ? 'AdamW on a policy from scratch' : imported;
  const { init: _shape, ...methods } = training;
  return Object.entries(methods).flatMap(([method, settings]) =>
    ratesOf(`training.${method}`, settings)
      .filter(([, rate]) => rate > highest)
      .map(([path, rate]) => `${path}: found ${rate}, expected at most ${highest} for ${model}`),
  );
}

type Rates = { learningRate?: number | undefined; byIteration?: readonly Rates[] };

const ratesOf = (path: string, { learningRate, byIteration = [] }: Rates): [path: string, rate: number][] => [
  ...(learningRate === undefined ? [] : [[`${path}.learningRate`, learningRate] satisfies [string, number]]),
  ...byIteration.flatMap((entry, index) => ratesOf(`${path}.byIteration.${index}`, entry)),
];
