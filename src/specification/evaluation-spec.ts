import { sha256 } from '../files/sha256';
import { canonicalJson } from '../domain/canonical-json';
import type { CampaignSpec, CampaignSpecInput } from './campaign-spec';
import { resolveSpec } from './read-spec';

/** The language model that plays in place of a policy: the solver of an evaluation's spec. */
export type PlayingModel = NonNullable<CampaignSpec['llm']>['models']['solver'];

/** Returns whether a language model of a provider plays, and no policy server. */
export const isPlayedByModel = ({ policy }: Pick<CampaignSpec, 'policy'>): boolean => policy.source === 'provider';

export type EvaluationRequest = {
  /** Hash of the policy; null where a model plays. */
  policyId: string | null;
  /** Language model that plays in place of a policy. */
  model: ModelInput | null;
  /** Limit on the spending of the model in US dollars; null: that of the source, or none. */
  usd: number | null;
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

/** A model as a spec names it. */
export type ModelInput = NonNullable<CampaignSpecInput['llm']>['models']['explorer'];

/** Number of tasks without another statement. */
const defaultTasks = 200;

/**
 * Returns the spec of a campaign without an iteration that scores a policy. On the source's own environment it draws the
 * source's evaluation sets, so that the scores pair task by task; otherwise one set, test.
 */
export function evaluationSpec(request: EvaluationRequest): CampaignSpec {
  const { policyId, model, source, environment, options, tasks } = request;
  const isOwn = source !== null && (environment === null || environment === source.environment.name);
  const name = environment ?? source?.environment.name ?? '';
  const drawsOwnSets = isOwn && tasks === null && Object.keys(options).length === 0;
  const count = tasks ?? (drawsOwnSets ? source.environment.heldOutTasks : defaultTasks);
  const input = {
    seed: request.seed ?? source?.seed ?? 0,
    recipe: 'sft',
    iterations: 0,
    start: 'base',
    ...(model === null ? { policy: { source: 'stored' as const, id: policyId } } : playedBy(request, model)),
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
      ...settingsOf(source),
    },
  } satisfies Omit<CampaignSpecInput, 'name'>;
  const id = sha256(canonicalJson(input)).slice(0, 8);
  const subject = model === null ? policyId!.slice(0, 8) : nameOf(model);
  return resolveSpec({ ...input, name: request.name ?? `evaluate-${subject}-${id}` }, 'the evaluation');
}

/** The sampling of the source's own evaluations, so that the scores pair with them. */
function settingsOf(source: CampaignSpec | null) {
  if (source === null) return {};
  const { temperature, confidence, attempts } = source.evaluation;
  return { temperature, confidence, ...(attempts === undefined ? {} : { attempts }) };
}

/** Actions of an evaluation are sampled at its temperature, unless the model accepts none. */
function playedBy({ source, usd }: EvaluationRequest, model: ModelInput) {
  const temperature = model.temperature === null ? null : (source?.evaluation.temperature ?? 0);
  return {
    policy: { source: 'provider' as const },
    llm: { models: { explorer: { ...model, temperature } } },
    budget: { usd: usd ?? source?.budget.usd ?? null, llmTokens: source?.budget.llmTokens ?? null },
  };
}

const nameOf = ({ model }: ModelInput): string =>
  model
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 24);
