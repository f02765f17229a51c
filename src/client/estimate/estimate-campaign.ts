import { artifactStore } from '../../artifacts/artifact-store';
import { parametersOf } from '../../artifacts/imported-models';
import type { Config } from '../../config';
import { jobDevice } from '../../process/devices';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { estimate, type Estimate } from '../../specification/estimate';
import { trainsPolicies } from '../../specification/estimate-training';
import { measureLengths } from './measure-lengths';
import { measureSpeeds, speedKey, type SpeedsHere } from './measure-speeds';

/** Speeds by what determines them: specs that share it share one probe. */
export type KnownSpeeds = Map<string, SpeedsHere>;

/**
 * Estimates a campaign with the lengths of its environment's own trajectories and the speeds of this machine.
 *
 * @param known speeds of earlier calls; those of this one are added
 * @returns the estimate, and the reason why a probe failed
 */
export async function estimateCampaign(
  config: Config,
  spec: CampaignSpec,
  known: KnownSpeeds = new Map(),
): Promise<{ expected: Estimate; problem: string | null }> {
  const lengths = await measureLengths(config, spec);
  const key = JSON.stringify([speedKey(config, spec), trainsPolicies(spec)]);
  const speeds = known.get(key) ?? (await measureSpeeds(config, spec, lengths));
  known.set(key, speeds);
  const parameters = await parametersOf(artifactStore(config.artifacts), spec.policy);
  return { expected: estimate(onDevices(config, spec), parameters, lengths, speeds), problem: speeds.problem };
}

/** Replaces device `auto` where jobs run on this installation's GPUs; policies from scratch have no figures for these. */
function onDevices({ devices }: Config, spec: CampaignSpec): CampaignSpec {
  const { policy, compute } = spec;
  const onGpus = compute.backend === 'local' && jobDevice(devices, compute.device) === 'cuda';
  return onGpus && policy.source !== 'scratch' ? { ...spec, compute: { ...compute, device: 'cuda' } } : spec;
}
