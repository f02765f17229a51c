import type { CampaignReport } from './collect-report';
import { renderPage } from './page/page';
import { sections } from './sections';
import { renderHeader } from './sections/header/section';

/** Renders a campaign as one self-contained HTML page. */
export const renderReport = (report: CampaignReport): string =>
  renderPage(
    `${report.campaign.name} · campaign report`,
    renderHeader(report),
    sections.map((section) => ({ id: section.id, title: section.title, body: section.render(report) })),
  );
