import { DomainError } from '../../domain/errors';
import type { TaskRecord } from '../../envs/server/environment-data';
import { loadExperts } from '../../envs/experts/expert-file';
import { formatAction } from '../../domain/rollout/action-form';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { Dependencies } from '../context/dependencies';

/**
 * Replaces the reference actions of train tasks by the imported experts of the spec. A task without an imported expert
 * keeps its reference actions; a task with neither is not used by the training of iteration 0.
 *
 * @throws DomainError `NoExperts` when no task has reference actions and the campaign starts with supervised training
 */
export async function withExperts(
  { artifacts }: Pick<Dependencies, 'artifacts'>,
  { environment, start, policy }: CampaignSpec,
  records: readonly TaskRecord[],
): Promise<TaskRecord[]> {
  const { name, experts: hash, form } = environment;
  const experts = hash ? await loadExperts(artifacts, hash, name) : null;
  const given = records.map((record) => {
    const expert = experts?.get(record.task_id);
    return expert
      ? { ...record, reference_actions: expert.actions.map((action) => formatAction(action, form)) }
      : record;
  });
  if (experts && !records.some(({ task_id: id }) => experts.has(id)))
    throw new DomainError(
      'NoExperts',
      `environment.experts: none of its ${experts.size} tasks is among the ${records.length} train tasks; import them for this spec: \`coevolve experts import <file> --spec <spec>\``,
    );
  const needsExperts = start === 'sft' || policy.source === 'scratch';
  if (needsExperts && !given.some(({ reference_actions: actions }) => actions.length > 0))
    throw new DomainError(
      'NoExperts',
      `environment.name: ${name} has no reference actions, and the campaign starts with training on them; ` +
        `add some with \`coevolve experts import <file> --environment ${name}\`, or use \`start: base\` with an imported policy`,
    );
  return given;
}
