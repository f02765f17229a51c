import type { Config } from '../../config';
import { findDevices, jobDevice } from '../../process/devices';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { estimate, type Estimate } from '../../specification/estimate';
import { speedKey, trainsPolicies, type MeasuredSpeeds } from '../../specification/estimate-training';
import { measureLengths } from '../fit/measure-lengths';
import { recordedLengths } from '../fit/recorded-lengths';
import { measureCalls } from './measure-calls';
import { measureSpeeds } from './measure-speeds';

/** Speeds by what determines them: specs that share it share one probe. */
export type KnownSpeeds = Map<string, MeasuredSpeeds>;

/**
 * Estimates a campaign with the lengths of its environment's own trajectories, played or else recorded, and the speeds of this
 * machine.
 *
 * @param known speeds of earlier calls, to which this call adds its own
 */
export async function estimateCampaign(
  config: Config,
  spec: CampaignSpec,
  known: KnownSpeeds = new Map(),
): Promise<Estimate> {
  const lengths = (await measureLengths(config, spec)) ?? recordedLengths(spec);
  const key = JSON.stringify([speedKey(spec, findDevices(config.devices).length > 0), trainsPolicies(spec)]);
  const speeds = known.get(key) ?? (await measureSpeeds(config, spec, lengths));
  known.set(key, speeds);
  return estimate(onDevices(config, spec), lengths, { ...speeds, calls: await measureCalls(config, spec) });
}

/** Replaces device `auto` where jobs run on this installation's GPUs. GPU time of policies from scratch is not counted. */
function onDevices({ devices }: Config, spec: CampaignSpec): CampaignSpec {
  const { policy, compute } = spec;
  const onGpus = compute.backend === 'local' && jobDevice(devices, compute.device) === 'cuda';
  return onGpus && policy.source !== 'scratch' ? { ...spec, compute: { ...compute, device: 'cuda' } } : spec;
}
