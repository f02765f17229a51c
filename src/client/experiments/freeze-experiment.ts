import { findModel } from '../../artifacts/imported-models';
import { sha256 } from '../../files/sha256';
import { canonicalJson } from '../../domain/canonical-json';
import { DomainError } from '../../domain/errors';
import { analysisVersion } from '../../statistics/analysis-input';
import type { Experiment } from '../../domain/experiment/experiment';
import { drawUntilDone } from '../../envs/server/draw-until-done';
import { createEnvironments } from '../../envs/environments';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { differencesOf } from '../../input/differences';
import { cellSpec } from '../../specification/experiment/cell-spec';
import type { ExperimentSource } from '../../specification/experiment/read-experiment';
import { experimentHash, isSameExperiment, upgraded } from '../../specification/experiment/same-experiment';
import { experimentVersionStore, type ExperimentVersion } from '../../store/experiment/versions';
import type { Connections } from '../connections';
import { codeVersion } from '../../process/code-version';

export type Frozen = ExperimentVersion & {
  /** `unchanged`: the same content was frozen before; `amended`: a further version. */
  outcome: 'frozen' | 'unchanged' | 'amended';
};

/**
 * Stores an experiment, with the versions of everything that it runs with, before its first score. The same content again
 * changes nothing, also after an upgrade that added keys to specs. Other content is a new version, which needs `amend` once
 * cells have begun.
 *
 * @throws DomainError `ExperimentFrozen`
 */
export async function freezeExperiment(
  connections: Connections,
  { experiment, source, profile }: ExperimentSource,
  { amend = false }: { amend?: boolean } = {},
): Promise<Frozen> {
  const versions = experimentVersionStore(connections.pool);
  const { name } = experiment;
  const before = await versions.find(name);
  if (before && isSameExperiment(before.resolved, experiment)) return { ...before, outcome: 'unchanged' };
  const differences = before ? differencesOf(comparable(upgraded(before.resolved)), comparable(experiment)) : [];
  const cells = before ? await versions.countCells(name) : 0;
  if (cells > 0 && !amend) throw refused(name, cells, differences);
  const manifest = await manifestOf(connections, experiment);
  await versions.save(
    { resolved: experiment, hash: experimentHash(experiment), source, profile, manifest, differences },
    before?.version ?? 0,
  );
  return { ...(await versions.get(name)), outcome: before ? 'amended' : 'frozen' };
}

/** Arms by name, with sorted keys: Postgres stores keys in an order of its own. */
const comparable = ({ arms, ...others }: Experiment): unknown =>
  JSON.parse(canonicalJson({ ...others, arms: Object.fromEntries(arms.map((arm) => [arm.name, arm])) }));

function refused(name: string, cells: number, differences: readonly { key: string }[]): DomainError {
  const keys = differences.map(({ key }) => key).join(', ');
  return new DomainError(
    'ExperimentFrozen',
    `${name}: the file differs in ${keys} from the frozen version, under which ${cells} cells have begun; ` +
      'add --amend to freeze it as an amendment, which the report shows, or give the experiment another name',
  );
}

async function manifestOf(connections: Connections, experiment: Experiment): Promise<Record<string, unknown>> {
  const specs = experiment.arms.map(({ name }) => cellSpec(experiment, { arm: name, seed: 1 }));
  return {
    code: await codeVersion(connections.config.projectRoot),
    analysisVersion,
    environments: await environmentsOf(connections, specs),
    baseModels: await baseModelsOf(connections, specs),
    before: await experimentVersionStore(connections.pool).before(experiment.name),
  };
}

const sampledTasks = 20;

/** Returns for each environment the hash of a sample of its tasks: another generator draws other tasks. */
async function environmentsOf({ config }: Connections, specs: readonly CampaignSpec[]): Promise<unknown[]> {
  const { data } = createEnvironments(config);
  const different = new Map(
    specs.map(({ environment: { name, options, form } }) => [
      canonicalJson([name, options, form]),
      { name, options, form },
    ]),
  );
  const found: unknown[] = [];
  for (const { name, options, form } of different.values()) {
    const capabilities = await data.capabilities(name);
    const keys: string[] = [];
    for (const split of ['train', 'held-out'] as const) {
      const request = { split, count: sampledTasks, seed: 0, options, form };
      const drawn = await drawUntilDone(() => data.tasks(name, request));
      keys.push(...drawn.map((task) => task.content_key));
    }
    found.push({ name, options, capabilities, taskHash: sha256(canonicalJson(keys)) });
  }
  return found;
}

/** Returns the hashes of the imported models by name; null for one that is not imported yet. */
async function baseModelsOf(
  { artifacts }: Connections,
  specs: readonly CampaignSpec[],
): Promise<Record<string, string | null>> {
  const models: Record<string, string | null> = {};
  for (const { policy } of specs)
    if (policy.model !== null) models[policy.model] = (await findModel(artifacts, policy.model))?.policyId ?? null;
  return models;
}
