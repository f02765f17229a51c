import type { CampaignSpec } from './campaign-spec';

/** What a campaign is served by, as far as it decides whether two runs of a spec are one. */
export type Serving = {
  /** `small`: our server, which computes in fixed shapes; `other`: one whose address was configured. */
  policyServer: 'small' | 'vllm' | 'other';
  /** What the environment says of a replay of recorded actions. */
  replay: 'observations' | 'score' | 'none';
};

/**
 * Why another run of the same spec and seed may give other rows, a reason each; empty: attempts, signals, tasks, pairs,
 * datasets, checkpoints and evaluations are the same to the last bit, whatever the batches, workers and interruptions.
 */
export function nondeterminismReasons(spec: CampaignSpec, { policyServer, replay }: Serving): string[] {
  const { compute, environment, llm } = spec;
  const reasons: [boolean, string][] = [
    [llm !== null, 'llm: language models do not repeat their answers'],
    [policyServer === 'vllm', 'policy server: vLLM computes a row together with whatever is in its batch'],
    [policyServer === 'other', 'policy server: not started here, so nothing is known of its batches'],
    [compute.backend === 'kubernetes', 'compute.backend: the machines of a cluster may differ'],
    [compute.gpus > 0 || compute.device === 'cuda', 'compute: sums on a GPU depend on the order of its threads'],
    [replay !== 'observations', `environment.name: ${environment.name} need not show the same again`],
  ];
  return reasons.filter(([holds]) => holds).map(([, reason]) => reason);
}
