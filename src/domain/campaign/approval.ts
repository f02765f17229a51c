const waits = 'wait for approval';

/** Why a campaign parks that has candidates for an operator to decide, and what to do. */
export const approvalNeeded = (campaign: string, iteration: number, tasks: number): string =>
  `${tasks} tasks of iteration ${iteration} ${waits}: see them with \`coevolve tasks ${campaign} --verdict candidate\`, ` +
  `admit them with \`coevolve approve ${campaign}\``;

/** Why a campaign parks that has trained a policy which shall not act before an operator says so, and what to do. */
export const promotionApprovalNeeded = (campaign: string, iteration: number, reason: string): string =>
  `the target policy of iteration ${iteration} has to ${waits} (${reason}): see \`coevolve report ${campaign}\`, let it ` +
  `act with \`coevolve approve ${campaign}\`, or keep the one that acts with \`coevolve approve ${campaign} --keep\``;

/** Whether that is why a campaign is parked: one that parks for another reason may have candidates that nobody checked. */
export const awaitsApproval = (parked: string | null): boolean => parked?.includes(waits) ?? false;
