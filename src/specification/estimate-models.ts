import type { CampaignSpec } from './campaign-spec';
import { measuredTraining, type MeasuredLengths } from './estimate-training';
import { aimsOf, plannedSize } from './iteration-plan';
import { count, interval } from '../domain/formats';

export type ModelEstimate = {
  calls: number;
  tokens: number;
  usd: number;
  /** Duration of the calls, as many of which run at once as their providers and the work allow. */
  seconds: number;
  /** The true duration is within this factor. */
  spread: number;
  /** Basis of the figures, in one line. */
  assumptions: string;
};

/** Speeds of earlier calls of this stack to the models of a spec. */
export type CallSpeeds = {
  /** Mean seconds of the newest calls by purpose, and their number. */
  measured: Partial<Record<string, { seconds: number; calls: number }>>;
  /** Concurrent calls by provider. */
  concurrency: ReadonlyMap<string, number>;
};

const unmeasured: CallSpeeds = { measured: {}, concurrency: new Map() };

/** Of a call that was not measured: a hosted model, and a small one on some cores. */
const assumedCall = { tokensPerSecond: 20, latency: 1, concurrency: 8, spread: 3 };

/** Equal calls differ with the load of the server. */
const measuredSpread = 1.5;

type Purpose = 'reflector' | 'explorer' | 'abstractor' | 'judge' | 'solver';

/** Estimated prompt and completion tokens per call on short SQL tasks; an explorer's prompt grows with every turn. */
const tokensPerCall: Record<Purpose, { input: number; output: number }> = {
  reflector: { input: 1200, output: 300 },
  explorer: { input: 1500, output: 80 },
  abstractor: { input: 6000, output: 900 },
  judge: { input: 1200, output: 200 },
  solver: { input: 1500, output: 80 },
};

/** Of an abstractor that words one action. */
const tokensOfWording = { input: 500, output: 30 };

/**
 * Estimates the model calls of a campaign, with their tokens and their cost at the prices in the spec. Every prompt shows
 * a session of the environment, so it is longer where trajectories are longer. Every exploration run and every candidate
 * counts; repairs, embeddings, graded attempts and refills are left out.
 */
export function estimateModels(
  spec: CampaignSpec,
  lengths: MeasuredLengths | null,
  speeds: CallSpeeds = unmeasured,
): ModelEstimate | null {
  if (!spec.llm) return null;
  const calls = callsOf(spec);
  const { tokensPerTrajectory } = measuredTraining;
  const longer = Math.max(0, (lengths?.mean ?? tokensPerTrajectory) - tokensPerTrajectory);
  const parallel = parallelOf(spec);
  let [tokens, usd, seconds, known] = [0, 0, 0, 0];
  for (const [purpose, times] of Object.entries(calls) as [Purpose, number][]) {
    const isShort = purpose === 'abstractor' && spec.synthesis.abstraction === 'actions';
    const { output, input: short } = isShort ? tokensOfWording : tokensPerCall[purpose];
    const input = short + longer;
    const { price, provider } = spec.llm.models[purpose];
    const { inputPerMillion, outputPerMillion } = price;
    const measured = speeds.measured[purpose];
    const concurrency = speeds.concurrency.get(provider) ?? assumedCall.concurrency;
    const each = measured?.seconds ?? assumedCall.latency + output / assumedCall.tokensPerSecond;
    seconds += (times * each) / Math.max(1, Math.min(concurrency, parallel[purpose]));
    known += measured?.calls ?? 0;
    tokens += times * (input + output);
    usd += (times * (input * inputPerMillion + output * outputPerMillion)) / 1e6;
  }
  const basis = lengths ? "with one of the environment's own trajectories" : 'those of short SQL tasks';
  return {
    calls: Object.values(calls).reduce((sum, times) => sum + times, 0),
    tokens,
    usd,
    seconds,
    spread: known > 0 ? measuredSpread : assumedCall.spread,
    assumptions: `prompts of ${rangeOf('input', longer)} tokens (${basis}), answers of ${rangeOf('output')} without thinking; ${speedText(known)}`,
  };
}

const speedText = (known: number): string =>
  known > 0
    ? `calls as long as ${count(known)} earlier ones`
    : `${assumedCall.tokensPerSecond} tokens/s, as no call was measured here`;

function rangeOf(side: 'input' | 'output', longer = 0): string {
  const counts = Object.values(tokensPerCall).map((tokens) => tokens[side] + longer);
  return interval(Math.min(...counts), Math.max(...counts), count);
}

/** Returns how many calls of an iteration can run at once: a context takes one at a time, and so does a candidate. */
function parallelOf(spec: CampaignSpec): Record<Purpose, number> {
  const { contexts, candidates } = plannedSize(spec, spec.iterations);
  const runs = contexts * spec.synthesis.exploration.rounds;
  return { reflector: contexts, explorer: runs, abstractor: contexts, judge: candidates, solver: candidates };
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
    abstractor: sum(synthesis.abstraction === 'actions' ? 'candidates' : 'contexts'),
    judge: sum('candidates') + calibrated,
    solver: sum('candidates') * synthesis.solverAttempts * (spec.environment.maxTurns ?? maxTurns),
  };
}
