import { DomainError } from '../../domain/errors';
import { deriveSeed } from '../../domain/random/seed-tree';
import { divideTasks } from '../../domain/evaluation/divide-tasks';
import type { TaskRecord, TaskRequest } from '../../envs/server/environment-data';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { evaluationDraws, type EvaluationDraw } from '../../specification/evaluation-settings';
import type { Dependencies } from '../context/dependencies';
import { drawHeldOut, type HeldOutDraw } from './draw-held-out';

type DrawnSet = { set: string; records: TaskRecord[] };

/**
 * Draws the tasks of every evaluation set. Sets with equal options are divided from one draw. A later draw leaves out the
 * tasks of the earlier ones, so that no task belongs to two sets.
 *
 * @throws DomainError `TooFewTasks`
 */
export async function drawSets(
  deps: Dependencies,
  spec: CampaignSpec,
  train: readonly TaskRecord[],
): Promise<DrawnSet[]> {
  const drawn: DrawnSet[] = [];
  for (const request of evaluationDraws(spec)) {
    const taken = new Set(drawn.flatMap(({ records }) => records).map(({ content_key: key }) => key));
    const records = await drawOthers(deps, spec, request, { train, taken });
    const divided = divideTasks(
      records,
      request.sets.map(({ tasks }) => tasks),
    );
    drawn.push(...request.sets.map(({ name }, n) => ({ set: name, records: divided[n]! })));
  }
  return drawn;
}

/** @throws DomainError `TooFewTasks` */
export function requireTasks(key: string, has: string, records: readonly TaskRecord[], count: number): void {
  if (records.length < count)
    throw new DomainError('TooFewTasks', `${key}: ${has} ${records.length} tasks, the spec requires ${count}`);
}

/** Draws tasks whose contents are not `taken`. */
async function drawOthers(
  deps: Dependencies,
  spec: CampaignSpec,
  { key, tasks: count, options, sets }: EvaluationDraw,
  { train, taken }: { train: readonly TaskRecord[]; taken: ReadonlySet<string> },
): Promise<TaskRecord[]> {
  const { name, form } = spec.environment;
  const request: TaskRequest = { split: 'held-out', count, seed: deriveSeed(spec.seed, 'tasks'), options, form };
  const draw = async (more: number): Promise<HeldOutDraw> => {
    const { records, twins } = await drawHeldOut(deps, name, { ...request, count: count + more }, train);
    return { records: records.filter(({ content_key: content }) => !taken.has(content)).slice(0, count), twins };
  };
  let drawn = await draw(0);
  if (drawn.records.length < count && taken.size > 0) drawn = await draw(taken.size);
  const { records, twins } = drawn;
  const without = twins.length > 0 ? `, without ${twins.length} that begin exactly as a train task (${twins[0]}),` : '';
  requireTasks(key, `${name} has for ${sets.map((set) => set.name).join(' and ')}${without}`, records, count);
  return records;
}
