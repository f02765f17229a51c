import type { CampaignSpec } from './campaign-spec';
import { enabledAims, enabledSignals } from './iteration-plan';

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
  const { synthesis, judge, iterations } = spec;
  const { contextsPerSignal, rounds, maxTurns } = synthesis.exploration;
  const aims = enabledAims(spec);
  const guided = aims.filter((aim) => aim !== 'random').length * contextsPerSignal * iterations;
  const unguided = aims.includes('random') ? enabledSignals(spec) * contextsPerSignal * iterations : 0;
  const initial =
    synthesis.initialTasks === null ? 0 : Math.max(contextsPerSignal, Math.ceil(synthesis.initialTasks / 4));
  const contexts = guided + unguided + initial;
  const candidates = enabledSignals(spec) * synthesis.candidatesPerSignal * (aims.length > 0 ? iterations : 0);
  const made = candidates + 2 * (synthesis.initialTasks ?? 0);
  const calibrated = 2 * judge.calibrationTasks * Math.ceil((iterations + 1) / judge.calibrateEvery);
  return {
    reflector: guided,
    explorer: contexts * rounds * maxTurns,
    abstractor: contexts,
    judge: made + calibrated,
    solver: made * synthesis.solverAttempts * (spec.environment.maxTurns ?? maxTurns),
  };
}
