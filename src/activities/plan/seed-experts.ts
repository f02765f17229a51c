import { DomainError } from '../../domain/base/errors';
import type { TaskRecord } from '../../envs/server/environment-data';
import { loadExperts } from '../../envs/experts/expert-file';
import { formatAction } from '../../domain/rollout/action-form';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { Dependencies } from '../base/dependencies';

/**
 * Train tasks with the experts that the spec names in place of the environment's own. A task that no import is about
 * keeps what it has, which may be nothing: no expert plays it, and nobody learns from it at the start.
 *
 * @throws DomainError `NoExperts` when none of the tasks has reference actions and the campaign starts from them
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
  const learnt = start === 'sft' || policy.source === 'scratch';
  if (learnt && !given.some(({ reference_actions: actions }) => actions.length > 0))
    throw new DomainError(
      'NoExperts',
      `environment.name: ${name} has no reference actions, and the campaign starts by learning from them; ` +
        `\`coevolve experts import <file> --environment ${name}\` brings some, \`start: base\` with an imported policy needs none`,
    );
  return given;
}
