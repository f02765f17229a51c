import { sha256 } from '../files/sha256';
import { canonicalJson } from '../domain/canonical-json';
import type { CampaignSpec, CampaignSpecInput } from './campaign-spec';
import { resolveSpec } from './read-spec';

export type EvaluationRequest = {
  /** Hash of the policy. */
  policyId: string;
  /** Settings of the campaign that the policy belongs to; null for an imported model. */
  source: CampaignSpec | null;
  /** Environment to play. Is null for the source's environment with its evaluation sets. */
  environment: string | null;
  options: Record<string, unknown>;
  /** Number of tasks to play. If it is null, the source's sets determine it, or it is 200. */
  tasks: number | null;
  seed: number | null;
  name: string | null;
};

/** Number of tasks without another statement. */
const defaultTasks = 200;

/**
 * Returns the spec of a campaign without an iteration that scores a policy. On the source's own environment it draws the
 * source's evaluation sets, so that the scores pair task by task; otherwise one set, test.
 */
export function evaluationSpec(request: EvaluationRequest): CampaignSpec {
  const { policyId, source, environment, options, tasks } = request;
  const isOwn = source !== null && (environment === null || environment === source.environment.name);
  const name = environment ?? source?.environment.name ?? '';
  const drawsOwnSets = isOwn && tasks === null && Object.keys(options).length === 0;
  const count = tasks ?? (drawsOwnSets ? source.environment.heldOutTasks : defaultTasks);
  const input = {
    seed: request.seed ?? source?.seed ?? 0,
    recipe: 'sft',
    iterations: 0,
    start: 'base',
    policy: { source: 'stored', id: policyId },
    environment: {
      name,
      options: { ...(isOwn ? source.environment.options : {}), ...options },
      ...(isOwn ? { maxTurns: source.environment.maxTurns } : {}),
      ...(source ? { form: source.environment.form } : {}),
      trainTasks: 1,
      heldOutTasks: count,
    },
    rollouts: source ? { maxTokens: source.rollouts.maxTokens } : { maxTokens: 1024 },
    evaluation: {
      sets: drawsOwnSets ? source.evaluation.sets : { test: { tasks: count } },
      ...(source ? { temperature: source.evaluation.temperature, confidence: source.evaluation.confidence } : {}),
    },
  } satisfies Omit<CampaignSpecInput, 'name'>;
  const id = sha256(canonicalJson(input)).slice(0, 8);
  return resolveSpec({ ...input, name: request.name ?? `evaluate-${policyId.slice(0, 8)}-${id}` }, 'the evaluation');
}
