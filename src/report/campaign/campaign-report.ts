import type pg from 'pg';
import type { Html } from '../../tables/html';
import { renderDocument, renderPage, renderSections, type LiveParts, type Served } from '../page/page';
import type { Queries, Query, Results, SharedData } from './campaign-data';
import { renderHeader } from './header';
import { sections } from './sections';
import { readSharedData } from './shared-data';

type Intersection<T> = (T extends unknown ? (part: T) => void : never) extends (whole: infer Whole) => void
  ? Whole
  : never;

type RowsOf<S> = S extends { queries: infer Q extends Queries } ? Results<Q> : never;

/** All data of the report of a campaign: the shared data and the rows of every section's queries, by their names. */
export type CampaignReport = SharedData & Intersection<RowsOf<(typeof sections)[number]>>;

/** Renders a campaign as one self-contained HTML page. */
export const renderReport = (report: CampaignReport): string =>
  renderPage({ title: `${report.campaign.name} · campaign report`, header: renderHeader(report), sections }, report);

/** `main`: the rendered sections, whose charts take most of the time of a page. */
export type RenderedReport = { report: CampaignReport; main: Html };

export const renderMain = (report: CampaignReport): RenderedReport => ({
  report,
  main: renderSections(sections, report),
});

/** Renders the report for a server. */
export const renderLiveReport = ({ report, main }: RenderedReport, live: LiveParts, served: Served): string =>
  renderDocument(report.campaign.name, [renderHeader(report, live), main], served);

/**
 * Reads a campaign's report in one snapshot, so that its numbers agree with each other while the campaign runs.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function collectReport(pool: pg.Pool, campaignId: number): Promise<CampaignReport> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    return await readReport(client, campaignId);
  } finally {
    await client.query('rollback'); // nothing was written
    client.release();
  }
}

/** Runs every query once, also one that several sections declare. */
async function readReport(client: pg.ClientBase, campaignId: number): Promise<CampaignReport> {
  const shared = await readSharedData(client, campaignId);
  const queries = Object.assign({}, ...sections.map((section) => section.queries)) as Record<string, Query>;
  const rows: Record<string, unknown> = {};
  for (const [name, query] of Object.entries(queries)) rows[name] = await query(client, campaignId, shared);
  return { ...shared, ...rows } as CampaignReport;
}
