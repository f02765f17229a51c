/** The operator's step for what waits; it becomes part of docs/parked.md. */
export const approvalSteps = {
  tasks: '`coevolve tasks <campaign> --verdict candidate`, then `coevolve approve <campaign>`',
  policy: '`coevolve approve <campaign>` promotes it, `coevolve approve <campaign> --keep` keeps the active one',
} as const;

/** Returns the reason for which a campaign parks until an operator decides on its candidates, with the next commands. */
export const tasksNeedApproval = (campaign: string, iteration: number, tasks: number): string =>
  `${tasks} tasks of iteration ${iteration} wait for approval: see them with \`coevolve tasks ${campaign} --verdict candidate\`, ` +
  `admit them with \`coevolve approve ${campaign}\``;

/** Returns the reason for which a campaign parks until an operator decides on its trained policy, with the next commands. */
export const promotionNeedsApproval = (campaign: string, iteration: number, reason: string): string =>
  `the trained target policy of iteration ${iteration} has to wait for approval (${reason}): see \`coevolve report ${campaign}\`, ` +
  `activate it with \`coevolve approve ${campaign}\`, or keep the active policy with \`coevolve approve ${campaign} --keep\``;
