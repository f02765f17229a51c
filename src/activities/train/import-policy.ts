import { requirePolicy } from '../../artifacts/require-policy';
import { getModel } from '../../artifacts/imported-models';
import { DomainError } from '../../domain/errors';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { isPlayedByModel, type PlayingModel } from '../../specification/evaluation-spec';
import type { TrainingRunRow } from '../../store/training/training-runs';
import type { TrainingRequest } from './training-data';
import type { Dependencies } from '../context/dependencies';

type Origin = Pick<Dependencies, 'store' | 'artifacts'>;

/**
 * Stores a completed run for a policy that was trained elsewhere. The base is the policy in the spec; every other role
 * starts as the base.
 *
 * @throws DomainError `UnknownModel`, `UnknownPolicy` when the policy was removed since the start
 */
export async function importPolicy(
  deps: Origin,
  request: TrainingRequest,
  spec: CampaignSpec,
  jobKey: string,
): Promise<TrainingRunRow> {
  const { trainingRuns, policies } = deps.store;
  const { campaignId, iteration, role } = request;
  const base = role === 'base' ? null : ((await policies.listActive(campaignId)).base ?? null);
  const policyId = base ?? (await basePolicy(deps, spec));
  await trainingRuns.save(
    request,
    {
      jobKey,
      role,
      method: 'import',
      basePolicy: base,
      settings: {},
      backend: spec.compute.backend,
      datasetSha256: null,
      datasetUri: null,
      datasetRows: 0,
      seed: iterationSeed(spec, iteration, 'train', role),
    },
    [],
  );
  await trainingRuns.succeed({ jobKey, epoch: request.epoch }, policyId, { tokens: 0, seconds: 0 });
  return trainingRuns.get(jobKey);
}

/** Names a language model and everything of its requests that decides its answers. */
const manifestOf = ({ price: _, structured: __, ...request }: PlayingModel) => ({ kind: 'language-model', ...request });

async function basePolicy({ artifacts }: Origin, spec: CampaignSpec): Promise<string> {
  const { model, id } = spec.policy;
  if (isPlayedByModel(spec)) return artifacts.saveManifest(manifestOf(spec.llm!.models.solver));
  if (id !== null) return requirePolicy(artifacts, id);
  if (model === null) throw new DomainError('InvalidSpec', 'policy.model: found nothing, expected a name');
  return (await getModel(artifacts, model)).policyId;
}
