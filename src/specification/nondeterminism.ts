import { backends } from '../training/backends';
import { gpusOf } from './compute-settings';
import type { CampaignSpec } from './campaign-spec';

/** Properties of the servers that decide whether two runs of a spec give the same result. */
export type Serving = {
  /** `small`: the built-in server, whose rows are independent of the batch; `other`: a server at a configured address. */
  policyServer: 'small' | 'vllm' | 'other';
  /** Guarantee of the environment for a replay of recorded actions. */
  replay: 'observations' | 'score' | 'none';
};

/**
 * Returns the reasons why another run of the same spec and seed may give different rows. Without a reason, attempts,
 * signals, tasks, pairs, datasets, checkpoints and evaluations are bitwise equal for all batches, workers and
 * interruptions.
 */
export function nondeterminismReasons(spec: CampaignSpec, { policyServer, replay }: Serving): string[] {
  const { compute, environment, llm } = spec;
  return holding([
    [llm !== null, 'llm: language models do not repeat their answers'],
    [policyServer === 'vllm', 'policy server: with vLLM, a result depends on the other rows of its batch'],
    [policyServer === 'other', 'policy server: it was not started by `coevolve up`, so its batching is unknown'],
    ...trainingReasons(compute),
    [replay !== 'observations', `environment.name: ${environment.name} may return other observations on a replay`],
  ]);
}

/** Returns a line if the spec wants to reuse policies, which only repeatable training allows. */
export const uselessReuse = ({ compute }: Pick<CampaignSpec, 'compute'>): string[] =>
  compute.reuse
    ? holding(trainingReasons(compute)).map((reason) => `compute.reuse: found true, expected false: ${reason}`)
    : [];

type Reason = [holds: boolean, reason: string];

function trainingReasons(compute: CampaignSpec['compute']): Reason[] {
  const { nondeterminism } = backends[compute.backend];
  return [
    [nondeterminism !== null, `compute.backend: ${nondeterminism}`],
    [gpusOf(compute) > 0, 'compute: sums on a GPU depend on the order of its threads'],
  ];
}

const holding = (reasons: readonly Reason[]): string[] =>
  reasons.filter(([holds]) => holds).map(([, reason]) => reason);
