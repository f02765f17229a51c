import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { ArtifactStore } from '../artifacts/artifact-store';
import { getModel } from '../artifacts/imported-models';
import type { Config } from '../config';
import { DomainError } from '../domain/errors';
import { devicesText, findDevices, type Device } from '../process/devices';
import { findProcess } from '../process/processes';
import { serverDevices } from '../process/server-devices';
import type { CampaignSpec } from '../specification/campaign-spec';
import { scratchShape, servingMemory, trainingMemory, unknownShape } from '../specification/device-memory';
import type { MemoryNeed, ModelShape } from '../specification/device-memory';
import { byteSize } from '../domain/formats';

export type DeviceCheck = {
  problems: DomainError[];
  unchecked: string[];
  /** The needs of each job and of the policy server of a device, one line each. */
  needs: string[];
};

/** Memory of a device that a job can use: the rest is lost to fragmentation, and to a vLLM that sleeps. */
const usableShare = 0.95;
/** vLLM's share (trainer/src/coevolve_vllm/vllm_process.py). */
const servedShare = 0.9;
/** Missing from the needs of a model that is not imported, so these are a lower bound. */
const lowerBound = 'the memory of activations, and of keys and values in the policy server,';
/** vLLM's default of our front server. */
const defaultContextTokens = 8192;

/**
 * Compares the memory that jobs and the embedded policy server need with the devices of this installation. Without devices
 * only `compute.device: cuda` is a problem.
 */
export async function checkDevices(config: Config, artifacts: ArtifactStore, spec: CampaignSpec): Promise<DeviceCheck> {
  const check: DeviceCheck = { problems: [], unchecked: [], needs: [] };
  const { backend, device, processes } = spec.compute;
  if (backend !== 'local' || device === 'cpu') return check;
  const devices = findDevices(config.devices);
  if (devices.length === 0) {
    if (device === 'cuda') await checkCuda(check, config);
    return check;
  }
  if (processes > devices.length)
    check.problems.push(
      invalid(
        `compute.processes: found ${processes}, expected at most ${devices.length}, the devices of COEVOLVE_DEVICES`,
      ),
    );
  const { parameters } = spec.policy;
  const known = await shapeOf(artifacts, spec);
  const shape = known ?? (parameters === null ? undefined : unknownShape(parameters));
  if (!known)
    check.unchecked.push(`compute: ${shape ? lowerBound : 'the memory of jobs'} is known when the model is imported`);
  if (!shape) return check;
  checkJobs(check, spec, shape, devices);
  checkServer(check, config, shape);
  return check;
}

function checkJobs(check: DeviceCheck, spec: CampaignSpec, shape: ModelShape, devices: readonly Device[]): void {
  const memory = smallest(devices);
  for (const need of trainingMemory(spec, shape)) {
    check.needs.push(
      `${needText(need)} on each of ${spec.compute.processes} of ${devices.length} devices with ${byteSize(memory)}`,
    );
    if (need.bytes <= memory * usableShare) continue;
    check.problems.push(
      invalid(
        `compute: ${needText(need)}, expected at most ${byteSize(memory * usableShare)} of ${byteSize(memory)}; ${remedies(spec, need)}`,
      ),
    );
  }
}

function checkServer(check: DeviceCheck, config: Config, shape: ModelShape): void {
  const { kind, devicesPerProcess = 1 } = config.policyServer;
  if (kind !== 'vllm' || (config.policy.url && !config.policy.tokenFile)) return;
  const [group] = serverDevices(config);
  if (!group) {
    check.problems.push(
      invalid(
        `policy server: found ${devicesText(findDevices(config.devices).length)} in COEVOLVE_DEVICES, expected at least ` +
          `${devicesPerProcess}, those of one vLLM process (COEVOLVE_VLLM_DEVICES)`,
      ),
    );
    return;
  }
  const memory = smallest(group);
  const { contextTokens = defaultContextTokens } = config.policyServer;
  const need = servingMemory(shape, { contextTokens, devices: group.length, deviceBytes: memory * servedShare });
  const contexts = Number.isFinite(need.contexts) ? `, and keys and values of ${need.contexts} full contexts fit` : '';
  check.needs.push(`${needText(need)} on each of ${group.length}${contexts}`);
  if (need.contexts >= 1) return;
  check.problems.push(
    invalid(
      `${needText(need)}, expected at most ${byteSize(memory * servedShare)} of ${byteSize(memory)}; bring the stack up ` +
        'with more COEVOLVE_VLLM_DEVICES per process, or with a smaller COEVOLVE_POLICY_CONTEXT',
    ),
  );
}

function remedies({ policy, compute }: CampaignSpec, { parts, bytes }: MemoryNeed): string {
  const ofPass = (parts['activations'] ?? 0) + (parts['logits'] ?? 0); // sharding does not divide these
  return [
    ...(policy.adapter ? [] : ['train an adapter (policy.adapter)']),
    ...(policy.precision === 'float32' && policy.adapter ? ['set policy.precision: bfloat16'] : []),
    ...(compute.gradientCheckpointing === 'off' ? ['set compute.gradientCheckpointing: auto'] : []),
    ...(ofPass > bytes / 2 ? ['lower training.<method>.microBatchTokens or maxLength'] : []),
    'shard over more processes (compute.sharding: fsdp, compute.processes)',
  ].join(', or ');
}

const needText = ({ job, parts, bytes }: MemoryNeed): string => {
  const largest = Object.entries(parts).filter(([, part]) => part >= 0.05 * bytes);
  return `${job}: ${byteSize(bytes)} (${largest.map(([name, part]) => `${name} ${byteSize(part)}`).join(', ')})`;
};

const smallest = (devices: readonly Device[]): number => Math.min(...devices.map(({ memoryBytes }) => memoryBytes));

const count = z.int().min(1);
const modelConfig = z.object({
  hidden_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  intermediate_size: count,
  vocab_size: count,
  max_position_embeddings: count,
});

/** Returns undefined for a model that is not imported yet, and for a stored policy, which is only evaluated. */
async function shapeOf(artifacts: ArtifactStore, spec: CampaignSpec): Promise<ModelShape | undefined> {
  const { source, model } = spec.policy;
  if (source === 'scratch') return scratchShape(spec);
  const found = source === 'imported' ? await getModel(artifacts, model!).catch(() => undefined) : undefined;
  if (!found) return undefined;
  const text = await readFile(join(artifacts.policyPath(found.policyId), 'config.json'), 'utf8').catch(() => '{}');
  const { data } = modelConfig.safeParse(JSON.parse(text));
  if (!data) return undefined;
  const headDim = data.head_dim ?? data.hidden_size / data.num_attention_heads;
  return {
    parameters: found.parameters,
    layers: data.num_hidden_layers,
    hiddenSize: data.hidden_size,
    headsWidth: data.num_attention_heads * headDim,
    kvWidth: (data.num_key_value_heads ?? data.num_attention_heads) * headDim,
    feedForwardSize: data.intermediate_size,
    vocabularySize: data.vocab_size,
    positions: data.max_position_embeddings,
  };
}

/** Returns the tokens that the policy of a spec can read; null for a model that is not here. */
export async function positionsOf(artifacts: ArtifactStore, spec: CampaignSpec): Promise<number | null> {
  if (spec.policy.source === 'scratch') return spec.training.init.maxPositions;
  return (await shapeOf(artifacts, spec))?.positions ?? null;
}

/** Looks for CUDA on this machine if its train worker, which runs the jobs, is here. */
async function checkCuda({ problems, unchecked }: DeviceCheck, { home, python }: Config): Promise<void> {
  if (!findProcess(home, 'worker-train')) {
    unchecked.push('compute.device: cuda is checked by the train worker, which does not run here');
    return;
  }
  const probe = 'import torch; print(torch.cuda.is_available())';
  const { stdout } = await promisify(execFile)(python, ['-c', probe], { timeout: 120_000 }).catch(() => ({
    stdout: '',
  }));
  if (stdout.trim() === 'False')
    problems.push(
      new DomainError(
        'NoGpu',
        'compute.device: found cuda, expected auto or cpu: torch finds no CUDA GPU on this machine',
      ),
    );
  else if (stdout.trim() !== 'True') unchecked.push('compute.device: torch cannot be started here');
}

const invalid = (message: string): DomainError => new DomainError('InvalidSpec', message);
