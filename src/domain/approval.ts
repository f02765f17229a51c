const waits = 'wait for approval';

/** Why a campaign parks that has candidates for an operator to decide, and what to do. */
export const approvalNeeded = (campaign: string, iteration: number, tasks: number): string =>
  `${tasks} tasks of iteration ${iteration} ${waits}: see them with \`coevolve tasks ${campaign} --verdict candidate\`, ` +
  `admit them with \`coevolve approve ${campaign}\``;

/** Whether that is why a campaign is parked: one that parks for another reason may have candidates that nobody checked. */
export const awaitsApproval = (parked: string | null): boolean => parked?.includes(waits) ?? false;
