import { isOnlyEvaluated } from '../../domain/campaign/policy-source';
import { existsSync } from 'node:fs';
import { artifactStore } from '../../artifacts/artifact-store';
import { findModel } from '../../artifacts/imported-models';
import type { Config } from '../../config';
import { findDevices, jobDevice } from '../../process/devices';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { measuredTraining, speedKey, trainsPolicies } from '../../specification/estimate-training';
import type { MeasuredLengths, MeasuredSpeed, MeasuredSpeeds } from '../../specification/estimate-training';
import type { SpeedOfMany } from '../../store/training/measured-speeds';
import { withConnections } from '../connections';
import { probeTraining } from './probe-training';

/** Least spread of a median and of a probe of some seconds: equal jobs differ with the load of the machine. */
const spread = { median: 1.2, probe: 1.5 };

/**
 * Returns the speeds that earlier campaigns of this stack had with the spec's policy. Without an earlier job, a probe measures
 * the speed of training if this machine trains on its CPU.
 */
export async function measureSpeeds(
  config: Config,
  spec: CampaignSpec,
  lengths: MeasuredLengths | null,
): Promise<MeasuredSpeeds> {
  const earlier = await earlierSpeeds(config, spec);
  const attempts = earlier.attempts && ofMany(earlier.attempts, 'phases');
  const training = earlier.training && ofMany(earlier.training, 'jobs');
  if (training || !trainsPolicies(spec)) return { attempts, training, unknown: notPlayed };
  const rowTokens = lengths?.mean ?? measuredTraining.tokensPerTrajectory;
  return { attempts, ...(await probe(config, spec, rowTokens)) };
}

const notPlayed = 'known after the first iteration of a campaign with this policy here: `coevolve start`';

const ofMany = ({ count, median, low, high }: SpeedOfMany, what: string): MeasuredSpeed => ({
  rate: median,
  spread: Math.max(spread.median, median / low, high / median),
  basis: `median of ${count} earlier ${what} with this policy`,
});

type Earlier = { training: SpeedOfMany | null; attempts: SpeedOfMany | null };

async function earlierSpeeds(config: Config, spec: CampaignSpec): Promise<Earlier> {
  const none = { training: null, attempts: null };
  if (!config.databaseUrl) return none;
  const key = speedKey(spec, findDevices(config.devices).length > 0);
  const read = withConnections(
    async ({ store: { measuredSpeeds } }) => ({
      training: await measuredSpeeds.findTraining(key),
      attempts: await measuredSpeeds.findAttempts(key),
    }),
    config,
  );
  return read.catch(() => none); // the check of the spec says that the database cannot be read
}

type Probed = Pick<MeasuredSpeeds, 'training' | 'unknown'>;

async function probe(config: Config, spec: CampaignSpec, rowTokens: number): Promise<Probed> {
  const { policy, compute } = spec;
  const unknown = (why: string): Probed => ({ training: null, unknown: why });
  // On a GPU a probe would need memory that a job or the policy server may hold
  if (compute.backend !== 'local' || jobDevice(config.devices, compute.device) !== 'cpu') return unknown(notPlayed);
  const artifacts = artifactStore(config.artifacts);
  const model = policy.model === null ? undefined : await findModel(artifacts, policy.model);
  if (policy.source === 'imported' && !model)
    return unknown(`known after \`coevolve model import <source> --name ${policy.model}\``);
  if (isOnlyEvaluated(policy)) return unknown(notPlayed);
  if (!existsSync(config.python))
    return unknown(`a probe failed: no Python at ${config.python}; run \`npm run setup\``);
  const base = model ? { hash: model.policyId, path: artifacts.policyPath(model.policyId) } : null;
  const found = await probeTraining(config, spec, base, rowTokens);
  if ('problem' in found) return unknown(`a probe failed: ${found.problem}`);
  const { tokensPerS: rate, updates } = found;
  return { training: { rate, spread: spread.probe, basis: `probed now, ${updates} updates` }, unknown: notPlayed };
}
