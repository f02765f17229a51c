/** How soon a dead worker is missed: `fast` costs four times the heartbeats. */
export const recoveryProfiles = ['default', 'fast'] as const;
export type RecoveryProfile = (typeof recoveryProfiles)[number];

/** What a campaign's workflows carry beside their input, from run to run and to their children. */
export type CampaignMemo = {
  recovery: RecoveryProfile;
  /** Share of the workers relative to other campaigns, in (0, 1000]. */
  weight: number;
};

/** The memo of a campaign; undefined for one that was started before campaigns had any. */
export function readCampaignMemo(memo: Readonly<Record<string, unknown>> | undefined): CampaignMemo | undefined {
  const { recovery, weight } = memo ?? {};
  const profile = recoveryProfiles.find((name) => name === recovery);
  return profile && typeof weight === 'number' && weight > 0 ? { recovery: profile, weight } : undefined;
}

/** Of a workflow anywhere in a campaign: `campaign/<name>` and all below it share one key. */
export const fairnessOf = (workflowId: string, weight: number): { fairnessKey: string; fairnessWeight: number } => ({
  fairnessKey: (workflowId.split('/')[1] ?? workflowId).slice(0, 64), // bytes: names of campaigns are ASCII
  fairnessWeight: weight,
});
