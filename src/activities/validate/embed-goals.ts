import { compareNaturally } from '../../domain/compare-text';
import { hashedNgrams } from '../../domain/tasks/admission/sentence-encoder';
import { groupBy } from '../../domain/group-by';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import { hasEmbeddings } from './admission-rules';
import { type Dependencies, getCampaign } from '../context/dependencies';
import { cancellationSignal } from '@temporalio/activity';

export type GoalVectors = { encoder: string; vectorOf(task: Pick<TaskRow, 'id' | 'goal'>): readonly number[] };

/**
 * Returns unit sentence embeddings of the goals of a campaign's tasks, from its embedding model or from hashed n-grams.
 *
 * The model embeds the seed tasks once and the candidates of each synthesis once. A repeated request gets the stored
 * answers without a charge: a group holds every task regardless of its verdict, so it never changes.
 *
 * @param tasks all tasks of the campaign, which only the model needs
 */
export async function embedGoals(
  { models }: Pick<Dependencies, 'models'>,
  { spec, key }: { spec: CampaignSpec; key: IterationKey },
  tasks: readonly TaskRow[],
  signal: AbortSignal,
): Promise<GoalVectors> {
  if (!hasEmbeddings(spec)) return { encoder: hashedNgrams.name, vectorOf: ({ goal }) => hashedNgrams.encode(goal) };

  const { provider, model } = spec.llm!.models.embedding!;
  const vectors = new Map<string, readonly number[]>();
  const present = tasks.filter(({ createdIteration }) => createdIteration <= key.iteration);
  for (const [callId, members] of groupBy(present, callOf)) {
    const ordered = [...members].sort((a, b) => compareNaturally(a.id, b.id));
    const texts = ordered.map(({ goal }) => goal);
    const embedded = await models.embed(spec, { key, callId, texts, signal });
    for (const [i, { id }] of ordered.entries()) vectors.set(id, embedded![i]!);
  }
  return { encoder: `${provider}/${model}`, vectorOf: ({ id }) => vectors.get(id)! };
}

const callOf = ({ origin, createdIteration, refill }: TaskRow): string =>
  origin === 'seed' ? 'embed/seeds' : `embed/${createdIteration}/admission${refill > 0 ? `/${refill}` : ''}`;

/**
 * Embeds the goals of an iteration's candidates and of the tasks they are compared with, with the embedding model of the
 * spec. Only the calls are stored: admission repeats the request and gets the stored answers.
 */
export const embedCandidates =
  (deps: Dependencies) =>
  async ({ refill = 0, ...key }: IterationKey & { refill?: number }): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const tasks = await deps.store.tasks.list(key.campaignId);
    const isLater = (task: TaskRow): boolean => task.createdIteration === key.iteration && task.refill > refill;
    const known = tasks.filter((task) => !isLater(task));
    await embedGoals(deps, { spec, key }, known, cancellationSignal());
  };
