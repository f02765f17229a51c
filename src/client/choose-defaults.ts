import type { Config } from '../config';
import { deriveSeed } from '../domain/random/seed-tree';
import { valueAt } from '../input/merge';
import { createEnvironments } from '../envs/environments';
import { EnvironmentError } from '../envs/contract/environment-error';
import type { Capabilities, EnvironmentData } from '../envs/server/environment-data';
import type { CampaignSpec } from '../specification/campaign-spec';
import { environmentDefaults, storedDefaults, type ChosenDefault } from './fit/environment-defaults';
import { trainsPolicies } from '../specification/estimate-training';
import { findStoredSpec, readGiven, type GivenSpec } from '../specification/read-spec';
import { measureLengths } from './fit/measure-lengths';
import { withConnections } from './connections';

export type ChosenSpec = { spec: CampaignSpec; chosen: ChosenDefault[] };

/** For a draw. An environment that is slower keeps the numbers that it declares, or the general defaults. */
const [declaredMs, timeoutMs] = [4_000, 20_000];

/**
 * Fills in the defaults that the environment of a spec determines: numbers of tasks, positions of a policy from scratch and
 * tokens of an action. A spec whose name is stored gets the stored values instead, so that a second start joins the campaign.
 * Without a server the general defaults stay; the check of the spec then reports the missing server.
 */
export async function chooseDefaults(config: Config, { spec, given }: GivenSpec): Promise<ChosenSpec> {
  const stored = await findStored(config, spec.name);
  if (stored) return { spec: readGiven(given, storedDefaults(given, spec, stored)), chosen: [] };
  const chosen = await askEnvironment(config, { spec, given });
  return { spec: chosen.length > 0 ? readGiven(given, chosen) : spec, chosen };
}

async function findStored(config: Config, name: string): Promise<CampaignSpec | undefined> {
  if (!config.databaseUrl) return undefined;
  const row = await withConnections(({ store }) => store.campaigns.find(name), config).catch(() => undefined);
  return row && findStoredSpec(row.spec);
}

/**
 * Returns the defaults that the environment of a spec determines; none if it is unknown, unavailable or rejects the options,
 * for which the check of the spec gives the reason.
 *
 * @param sizesOnly leaves out the settings that it declares
 */
export async function askEnvironment(
  config: Config,
  read: GivenSpec,
  { sizesOnly = false } = {},
): Promise<ChosenDefault[]> {
  if (!config.environment.url) return [];
  const { name } = read.spec.environment;
  try {
    const { data } = createEnvironments(config, { timeoutMs });
    if (!(await data.names()).includes(name)) return [];
    const { spec_defaults: declared } = await data.capabilities(name);
    const known = { ...declaredFacts(declared), ...(sizesOnly ? { settings: {} } : {}) };
    const sized = environmentDefaults(read.given, read.spec, { ...unknownFacts, ...known });
    const spec = sized.length > 0 ? readGiven(read.given, sized) : read.spec;
    const { data: drawing } = createEnvironments(config, {
      timeoutMs: declared.train_tasks === null ? timeoutMs : declaredMs,
    });
    const leavesOut = (...path: string[]): boolean => valueAt(read.given, path) === undefined;
    const drawn = { train: leavesOut('environment', 'trainTasks'), heldOut: leavesOut('environment', 'heldOutTasks') };
    // Before the draws: a slow engine searches the paths of all requests one after the other
    const lengths = trainsPolicies(spec) ? await measureLengths(config, spec) : null;
    const [availableTrain, availableHeldOut] = await Promise.all([
      drawn.train ? countTasks(drawing, spec, 'train') : null,
      drawn.heldOut ? countTasks(drawing, spec, 'held-out') : null,
    ]);
    return environmentDefaults(read.given, read.spec, {
      ...known,
      maxPositions: declared.max_positions,
      maxTokens: declared.max_tokens,
      availableTrain,
      availableHeldOut,
      rows: lengths?.rows ?? null,
    });
  } catch (error) {
    if (error instanceof EnvironmentError) return [];
    throw error;
  }
}

const unknownFacts = { maxPositions: null, maxTokens: null, availableTrain: null, availableHeldOut: null, rows: null };

const declaredFacts = (declared: Capabilities['spec_defaults']) => ({
  trainTasks: declared.train_tasks,
  heldOutTasks: declared.held_out_tasks,
  settings: declared.settings,
});

/**
 * Returns the number of tasks of a split, up to the spec's; null if the draw takes too long. Draws the campaign's own tasks, so
 * that its own draw finds the work of this one done.
 */
async function countTasks(
  data: EnvironmentData,
  { seed: campaignSeed, environment }: CampaignSpec,
  split: 'train' | 'held-out',
): Promise<number | null> {
  const { name, options, form, trainTasks, heldOutTasks } = environment;
  const count = split === 'train' ? trainTasks : heldOutTasks;
  const seed = deriveSeed(campaignSeed, 'tasks');
  try {
    return (await data.tasks(name, { split, count, seed, options, form })).length;
  } catch (error) {
    if (error instanceof EnvironmentError && error.kind !== 'rejected') return null;
    throw error;
  }
}
