const marker = 'wait for approval';

/** Returns the reason for which a campaign parks until an operator decides on its candidates, with the next commands. */
export const tasksNeedApproval = (campaign: string, iteration: number, tasks: number): string =>
  `${tasks} tasks of iteration ${iteration} ${marker}: see them with \`coevolve tasks ${campaign} --verdict candidate\`, ` +
  `admit them with \`coevolve approve ${campaign}\``;

/** Returns the reason for which a campaign parks until an operator decides on its trained policy, with the next commands. */
export const promotionNeedsApproval = (campaign: string, iteration: number, reason: string): string =>
  `the trained target policy of iteration ${iteration} has to ${marker} (${reason}): see \`coevolve report ${campaign}\`, ` +
  `activate it with \`coevolve approve ${campaign}\`, or keep the active policy with \`coevolve approve ${campaign} --keep\``;

/** True if this is the reason why a campaign is parked. A campaign parked for another reason may have unchecked candidates. */
export const awaitsApproval = (parked: string | null): boolean => parked?.includes(marker) ?? false;
