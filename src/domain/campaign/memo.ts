/** How soon a crashed worker is detected. `fast` costs four times the heartbeats. */
export const recoveryProfiles = ['default', 'fast'] as const;
export type RecoveryProfile = (typeof recoveryProfiles)[number];

/** Memo of a campaign's workflows, passed from run to run and to child workflows. */
export type CampaignMemo = {
  recovery: RecoveryProfile;
  /** Share of the workers relative to other campaigns, in (0, 1000]. */
  weight: number;
};

/** Returns the memo of a campaign; undefined for a workflow without a valid one. */
export function readCampaignMemo(memo: Readonly<Record<string, unknown>> | undefined): CampaignMemo | undefined {
  const { recovery, weight } = memo ?? {};
  const profile = recoveryProfiles.find((name) => name === recovery);
  return profile && typeof weight === 'number' && weight > 0 ? { recovery: profile, weight } : undefined;
}

/** Returns the fairness of a workflow: `campaign/<name>` and all workflows below it share one key. */
export const fairnessOf = (workflowId: string, weight: number): { fairnessKey: string; fairnessWeight: number } => ({
  fairnessKey: (workflowId.split('/')[1] ?? workflowId).slice(0, 64), // bytes: names of campaigns are ASCII
  fairnessWeight: weight,
});
