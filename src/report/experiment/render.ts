import { renderDocument, renderPage, renderSections, type LiveParts, type Served } from '../page/page';
import type { Section } from '../page/section';
import { armsSection } from './arms';
import { blocksSection } from './blocks';
import { categoriesSection } from './categories';
import { contrastsSection } from './contrasts';
import { costSection } from './cost';
import { curvesSection } from './curves';
import { poolSection } from './pool';
import { powerSection } from './power';
import { amendmentsSection, differencesSection, manifestSection } from './preregistration';
import { seedsSection } from './seeds';
import { tasksSection } from './tasks';
import { renderHeader } from './header';
import type { ExperimentReport } from './report';

/** The sections below the header, in the order of the page. */
const sections: readonly Section<ExperimentReport>[] = [
  armsSection,
  contrastsSection,
  seedsSection,
  blocksSection,
  curvesSection,
  categoriesSection,
  poolSection,
  tasksSection,
  powerSection,
  costSection,
  amendmentsSection,
  differencesSection,
  manifestSection,
];

/** Renders an analysed experiment as one self-contained HTML page. */
export const renderExperiment = (report: ExperimentReport): string =>
  renderPage(
    { title: `${report.record.experiment.name} · experiment report`, header: renderHeader(report), sections },
    report,
  );

/** Renders the same for a server. */
export const renderLiveExperiment = (report: ExperimentReport, live: LiveParts, served: Served): string =>
  renderDocument(report.record.experiment.name, [renderHeader(report, live), renderSections(sections, report)], served);
