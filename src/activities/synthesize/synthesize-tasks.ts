import { DomainError } from '../../domain/errors';
import { candidateTaskId } from '../../domain/campaign/ids';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { deriveSeed } from '../../domain/random/seed-tree';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { VariantRelation } from '../../envs/server/environment-data';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { NewTask } from '../../store/tasks/tasks';
import { drawInActivity } from '../plan/draw-in-activity';
import { refillSizeOf } from './refill-size';
import { seedTasks, variantParents, type SourceTask } from './source-tasks';
import { toTask } from '../plan/seed-tasks';
import { getCampaign, type Dependencies } from '../context/dependencies';

/**
 * Relations of new tasks to their parent by aim, and the share of the candidates that each has at most, after Fig. 10 of
 * arXiv:2604.15840: `forgetting` repeats the operation with other parameters; `boundary` also makes it slightly easier and
 * harder; `rare` varies the parameters of the rare action, whose parent `variantParents` finds; `random` draws any task,
 * for the first pool and the control. The last relation fills the rest, also where a parent has no easier task.
 */
const relationsOf: Record<SynthesisAim, readonly (readonly [relation: VariantRelation, share: number])[]> = {
  forgetting: [['neighbour', 1]],
  boundary: [
    ['easier', 0.25],
    ['harder', 0.25],
    ['neighbour', 1],
  ],
  rare: [['neighbour', 1]],
  random: [['random', 1]],
};

/** Max parents per request that the environment server accepts. */
const maxParents = 2_000;

/** Proposes candidates from the environment's task generator, without a model: variants of flagged tasks, or any tasks. */
export const synthesizeTasks =
  (deps: Dependencies) =>
  async ({ aim, refill = 0, ...key }: IterationKey & Synthesis): Promise<void> => {
    await deps.store.tasks.propose(key, await candidatesFor(deps, key, { aim, refill }));
    if (refill === 0) await deps.store.iterations.recordWork(key, 'synthesize', aim);
  };

type Synthesis = { aim: SynthesisAim; refill?: number };

async function candidatesFor(
  deps: Dependencies,
  key: IterationKey,
  { aim, refill }: Required<Synthesis>,
): Promise<NewTask[]> {
  const { spec } = await getCampaign(deps, key.campaignId);
  const { name, options, form } = spec.environment;
  const seed = iterationSeed(spec, key.iteration, 'synthesize', aim, ...(refill > 0 ? [refill] : []));
  const { candidates: wanted } = await refillSizeOf(deps, key, spec, { aim, refill });
  const parents = (await parentsFor(deps, key, spec, aim)).slice(0, maxParents);
  if (parents.length === 0 || wanted === 0) return [];
  await requireGenerator(deps, spec);

  const candidates: NewTask[] = [];
  for (const [relation, share] of relationsOf[aim]) {
    const count = Math.min(Math.floor(wanted * share), wanted - candidates.length);
    if (count === 0) continue;
    const definitions = parents.map(({ task }) => task.definition);
    const request = { parents: definitions, relation, count, seed: deriveSeed(seed, relation), options, form };
    const records = await drawInActivity(() => deps.environmentData.variants(name, request));
    for (const record of records) {
      const parent = relation === 'random' ? null : (parents[record.parent ?? 0] ?? null);
      const number = refill > 0 ? `refill-${refill}.${candidates.length}` : candidates.length;
      const id = candidateTaskId(key.iteration, aim, number);
      candidates.push({ ...toTask(record, name), ...identityOf(parent, spec), id, split: 'train', relation, refill });
    }
  }
  return candidates;
}

/** Returns the parents of variants; for `random` the seed tasks, which the generator does not draw again. */
async function parentsFor(
  deps: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  aim: SynthesisAim,
): Promise<Pick<SourceTask, 'task' | 'signal'>[]> {
  if (aim !== 'random') return variantParents(deps, key, spec, aim);
  return (await seedTasks(deps, key)).map((task) => ({ task, signal: null }));
}

/** A parent that was drawn in the place of a flagged task has no signal. */
const identityOf = (
  parent: Pick<SourceTask, 'task' | 'signal'> | null,
  { synthesis }: CampaignSpec,
): Pick<NewTask, 'origin' | 'parentTaskId' | 'parentSignalId'> => ({
  origin: parent ? 'synthesized' : 'random',
  parentTaskId: parent?.task.id ?? null,
  parentSignalId: synthesis.aims === 'shuffled' ? null : (parent?.signal?.id ?? null),
});

/** @throws DomainError `NoGenerator` */
async function requireGenerator(
  { environmentData }: Dependencies,
  { environment, recipe }: CampaignSpec,
): Promise<void> {
  const { variants } = await environmentData.capabilities(environment.name);
  if (variants) return;
  throw new DomainError(
    'NoGenerator',
    `environment.name: ${environment.name} has no task generator, so ${recipe} needs an \`llm\` section in its spec; ` +
      'add the section and `coevolve start` the spec under another name',
  );
}
