import { campaignOfWorkflow } from '../../domain/campaign/ids';

/**
 * Returns the argument of a command without the form of a workflow's id, which logs, pages and the Temporal UI print:
 * `campaign/<name>` and the ids below it name a campaign, `experiment/<name>` an experiment, and `campaign/<name>/<id>`
 * a task or an attempt.
 *
 * @param argument name of the argument in the command's usage
 */
export function withoutWorkflowForm(argument: string, value: string): string {
  if (/^(campaigns?|policy|cell)$/.test(argument)) return campaignOfWorkflow(value) ?? value;
  if (/^(id|origin)$/.test(argument)) return value.replace(/^campaign\//, '');
  if (/^(name|file-or-name)$/.test(argument)) return value.replace(/^experiment\/(?=[a-z0-9-]+$)/, '');
  return value;
}

/** Returns the id of a row without its campaign, as which some lists print it: `<campaign>/<id>`. */
export const idWithin = (campaign: string, id: string): string => {
  const inside = id.replace(/^campaign\//, '');
  return inside.startsWith(`${campaign}/`) ? inside.slice(campaign.length + 1) : id;
};
