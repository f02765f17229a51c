import { existsSync } from 'node:fs';
import { artifactStore } from '../../artifacts/artifact-store';
import { findModel } from '../../artifacts/imported-models';
import type { Config } from '../../config';
import { findDevices, jobDevice } from '../../process/devices';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { measuredTraining, trainsPolicies, type MeasuredLengths } from '../../specification/estimate-training';
import type { MeasuredSpeed, MeasuredSpeeds } from '../../specification/training-rate';
import type { SpeedKey, SpeedOfMany } from '../../store/training/measured-speeds';
import { withConnections } from '../connections';
import { probeTraining } from './probe-training';

/** `problem`: the reason why a probe failed. */
export type SpeedsHere = MeasuredSpeeds & { problem: string | null };

/** Least spread of a median: equal jobs differ with the load of the machine. That of a probe of some seconds. */
const spread = { median: 1.2, probe: 1.5 };

/**
 * Returns the speeds that earlier campaigns of this stack had with the spec's policy, and without a job of it the speed of
 * a probe, if this machine trains on its CPU. `problem`: the reason why a probe failed.
 */
export async function measureSpeeds(
  config: Config,
  spec: CampaignSpec,
  lengths: MeasuredLengths | null,
): Promise<SpeedsHere> {
  const { training, attempts } = await earlierSpeeds(config, spec);
  const measured = { attempts: attempts && ofMany(attempts, 'phases') };
  if (training || !trainsPolicies(spec))
    return { ...measured, training: training && ofMany(training, 'jobs'), problem: null };
  return { ...measured, ...(await probe(config, spec, lengths?.mean ?? measuredTraining.tokensPerTrajectory)) };
}

const ofMany = ({ count, median, low, high }: SpeedOfMany, what: string): MeasuredSpeed => ({
  rate: median,
  spread: Math.max(spread.median, median / low, high / median),
  basis: `median of ${count} earlier ${what} with this policy`,
});

type Earlier = { training: SpeedOfMany | null; attempts: SpeedOfMany | null };

async function earlierSpeeds(config: Config, spec: CampaignSpec): Promise<Earlier> {
  const none = { training: null, attempts: null };
  if (!config.databaseUrl) return none;
  const key = speedKey(config, spec);
  const read = withConnections(
    async ({ store: { measuredSpeeds } }) => ({
      training: await measuredSpeeds.findTraining(key),
      attempts: await measuredSpeeds.findAttempts(key),
    }),
    config,
  );
  return read.catch(() => none); // the check of the spec says that the database cannot be read
}

/** Returns the parts of a spec that determine the speeds. */
export function speedKey({ devices }: Config, { policy, compute, training, environment }: CampaignSpec): SpeedKey {
  const { source, model, id, adapter, precision } = policy;
  const { reuse: _, pricePerGpuHour: __, device, ...how } = compute;
  return {
    policy: { source, model, id, adapter, precision },
    init: source === 'scratch' ? training.init : {},
    compute: findDevices(devices).length > 0 ? { ...how, device } : how, // without a GPU every device is the CPU
    environment: environment.name,
  };
}

const failed = (why: string) => ({
  training: null,
  problem: `the speed of training is computed, as a probe failed: ${why}`,
});

async function probe(
  config: Config,
  spec: CampaignSpec,
  rowTokens: number,
): Promise<{ training: MeasuredSpeed | null; problem: string | null }> {
  const { policy, compute } = spec;
  // On a GPU a probe would need memory that a job or the policy server may hold
  if (compute.backend !== 'local' || jobDevice(config.devices, compute.device) !== 'cpu')
    return { training: null, problem: null };
  const artifacts = artifactStore(config.artifacts);
  const model = policy.model === null ? undefined : await findModel(artifacts, policy.model);
  if (policy.source !== 'scratch' && !model) return { training: null, problem: null }; // listed as not imported
  if (!existsSync(config.python)) return failed(`no Python at ${config.python}; run \`npm run setup\``);
  const base = model ? { hash: model.policyId, path: artifacts.policyPath(model.policyId) } : null;
  const found = await probeTraining(config, spec, base, rowTokens);
  if ('problem' in found) return failed(found.problem);
  const { tokensPerS: rate, updates } = found;
  return { training: { rate, spread: spread.probe, basis: `probed now, ${updates} updates` }, problem: null };
}
