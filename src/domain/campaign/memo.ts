/** How soon a crashed worker is detected. `fast` costs four times the heartbeats. */
export const recoveryProfiles = ['default', 'fast'] as const;
export type RecoveryProfile = (typeof recoveryProfiles)[number];

/** Memo of a campaign's workflows, passed from run to run and to child workflows. */
export type CampaignMemo = {
  recovery: RecoveryProfile;
  /** Share of the workers relative to other campaigns, in (0, 1000]. */
  weight: number;
  /** Id of the campaign's row; absent in the memo of an experiment. */
  campaignId?: number;
  /** Address of the page, for the links in Temporal's UI; absent where none is known. */
  pageUrl?: string | undefined;
};

/** Returns the memo of a campaign; undefined for a workflow without a valid one. */
export function readCampaignMemo(memo: Readonly<Record<string, unknown>> | undefined): CampaignMemo | undefined {
  const { recovery, weight, campaignId, pageUrl } = memo ?? {};
  const profile = recoveryProfiles.find((name) => name === recovery);
  if (!profile || typeof weight !== 'number' || weight <= 0) return undefined;
  return {
    recovery: profile,
    weight,
    ...(typeof campaignId === 'number' ? { campaignId } : {}),
    ...(typeof pageUrl === 'string' ? { pageUrl } : {}),
  };
}

/** Returns the fairness of a workflow: `campaign/<name>` and all workflows below it share one key. */
export const fairnessOf = (workflowId: string, weight: number): { fairnessKey: string; fairnessWeight: number } => ({
  fairnessKey: (workflowId.split('/')[1] ?? workflowId).slice(0, 64), // bytes: names of campaigns are ASCII
  fairnessWeight: weight,
});

/**
 * Start options of the workflow of a campaign or an experiment: the memo for its interceptors
 * (src/workflows/temporal/interceptors.ts), and the same settings for its first run. They contain no secrets.
 *
 * @param settings weight in (0, 1000]; id of the campaign's row
 */
export function memoOf(
  { recovery, pageUrl }: Pick<CampaignMemo, 'recovery' | 'pageUrl'>,
  workflowId: string,
  settings: Omit<CampaignMemo, 'recovery' | 'pageUrl'>,
): { memo: CampaignMemo; priority: ReturnType<typeof fairnessOf>; workflowTaskTimeout?: '2s' } {
  return {
    memo: { recovery, ...settings, ...(pageUrl && { pageUrl }) },
    priority: fairnessOf(workflowId, settings.weight),
    ...(recovery === 'fast' ? { workflowTaskTimeout: '2s' } : {}),
  };
}
