import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { collectReport, renderMain, type RenderedReport } from '../../report/campaign/campaign-report';

/** `rendered`: null while the first one is being collected. `age`: of it, in seconds. `seconds`: time after which a newer one may be there. */
export type KeptReport = { rendered: RenderedReport | null; age: number; seconds: number };

/** `tookMs`, `endedAt`: of the newest collection. `startedAt`: of the running one. */
type Kept = {
  rendered: RenderedReport | null;
  tookMs: number;
  endedAt: number;
  startedAt: number;
  collecting: Promise<void> | null;
};

const maxKept = 32;
const seconds = { least: 2, most: 30 };

/**
 * Collects the reports of campaigns for pages. The time grows with the campaign, to seconds at a million attempts. A
 * report that takes at most `patienceMs` is collected for each request. A slower one is shown for ten times its time,
 * that of an ended campaign always, and the next one is collected while it is shown.
 */
export function keptReports(pool: Pool, patienceMs = 300): (campaignId: number) => Promise<KeptReport> {
  const all = new Map<number, Kept>();

  async function collect(campaignId: number, kept: Kept): Promise<void> {
    kept.startedAt = performance.now();
    try {
      kept.rendered = renderMain(await collectReport(pool, campaignId));
      kept.endedAt = performance.now();
      kept.tookMs = kept.endedAt - kept.startedAt;
    } finally {
      kept.collecting = null;
    }
  }

  return async (campaignId) => {
    const kept = all.get(campaignId) ?? { rendered: null, tookMs: 0, endedAt: 0, startedAt: 0, collecting: null };
    all.delete(campaignId);
    all.set(campaignId, kept); // the one asked for last is the last to go
    if (all.size > maxKept) all.delete(all.keys().next().value!);
    const isSlow = kept.tookMs > patienceMs;
    const secondsLeft = isSlow ? lasts(kept) - (performance.now() - kept.endedAt) / 1000 : 0;
    if (secondsLeft <= 0) {
      kept.collecting ??= collect(campaignId, kept);
      const waitMs = isSlow ? 0 : Math.max(0, kept.startedAt + patienceMs - performance.now());
      await Promise.race([kept.collecting, sleep(waitMs, undefined, { ref: false })]);
    }
    const next = kept.collecting !== null ? seconds.least : isSlow ? secondsLeft : seconds.most;
    const age = kept.rendered ? (performance.now() - kept.endedAt) / 1000 : 0;
    return { rendered: kept.rendered, age, seconds: Math.ceil(Math.min(Math.max(next, seconds.least), seconds.most)) };
  };
}

const lasts = ({ rendered, tookMs }: Kept): number =>
  rendered!.report.campaign.finishedAt === null ? (10 * tookMs) / 1000 : Infinity;
