import type { CampaignSpec } from './campaign-spec';
import { aimsOf, plannedSize } from './iteration-plan';

export type ModelEstimate = { calls: number; tokens: number; usd: number };

type Purpose = 'reflector' | 'explorer' | 'abstractor' | 'judge' | 'solver';

/** Estimated prompt and completion tokens per call; an explorer's prompt grows with every turn. */
const tokensPerCall: Record<Purpose, { input: number; output: number }> = {
  reflector: { input: 1200, output: 300 },
  explorer: { input: 1500, output: 80 },
  abstractor: { input: 6000, output: 900 },
  judge: { input: 1200, output: 200 },
  solver: { input: 1500, output: 80 },
};

/**
 * Estimates the model calls of a campaign from its spec alone, with their tokens and their cost at the prices in the
 * spec. Every exploration run and every candidate counts; repairs, embeddings and graded attempts are left out.
 */
export function estimateModels(spec: CampaignSpec): ModelEstimate | null {
  if (!spec.llm) return null;
  const calls = callsOf(spec);
  let [tokens, usd] = [0, 0];
  for (const [purpose, count] of Object.entries(calls) as [Purpose, number][]) {
    const { input, output } = tokensPerCall[purpose];
    const { inputPerMillion, outputPerMillion } = spec.llm.models[purpose].price;
    tokens += count * (input + output);
    usd += (count * (input * inputPerMillion + output * outputPerMillion)) / 1e6;
  }
  return { calls: Object.values(calls).reduce((sum, count) => sum + count, 0), tokens, usd };
}

function callsOf(spec: CampaignSpec): Record<Purpose, number> {
  const { judge, synthesis, iterations } = spec;
  const { rounds, maxTurns } = synthesis.exploration;
  const planned = Array.from({ length: iterations + 1 }, (_, iteration) => ({
    ...plannedSize(spec, iteration),
    isGuided: !aimsOf(spec, iteration).includes('random'),
  }));
  const sum = (unit: 'candidates' | 'contexts', sizes = planned): number =>
    sizes.reduce((total, size) => total + size[unit], 0);
  const calibrated = 2 * judge.calibrationTasks * Math.ceil((iterations + 1) / judge.calibrateEvery);
  return {
    reflector: sum(
      'contexts',
      planned.filter(({ isGuided }) => isGuided),
    ),
    explorer: sum('contexts') * rounds * maxTurns,
    abstractor: sum('contexts'),
    judge: sum('candidates') + calibrated,
    solver: sum('candidates') * synthesis.solverAttempts * (spec.environment.maxTurns ?? maxTurns),
  };
}
