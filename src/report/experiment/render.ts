import { renderPage } from '../page/page';
import type { ExperimentReport } from './model/report';
import { experimentSections } from './sections';
import { renderHeader } from './sections/header/section';

/** Renders an analysed experiment as one self-contained HTML page. */
export const renderExperiment = (report: ExperimentReport): string =>
  renderPage(
    `${report.record.experiment.name} · experiment report`,
    renderHeader(report),
    experimentSections.map((section) => ({ ...section, body: section.render(report) })),
  );
