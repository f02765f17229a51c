import type { CampaignReport } from './collect-report';
import { renderHeader } from './sections/header/section';
import { html, trusted } from './page/html';
import { renderSection } from './page/blocks';
import { attemptsSection } from './sections/attempts/section';
import { failuresSection } from './sections/failures/section';
import { heldOutSection } from './sections/held-out/section';
import { judgeSection } from './sections/judge/section';
import { lineageSection } from './sections/lineage/section';
import { modelsSection } from './sections/models/section';
import { pairsSection } from './sections/pairs/section';
import { readingSection } from './sections/reading/section';
import { signalsSection } from './sections/signals/section';
import { stepsSection } from './sections/steps/section';
import { taskPoolSection } from './sections/task-pool/section';
import { timeAndCostSection } from './sections/time-and-cost/section';
import { trainingCurvesSection } from './sections/training-curves/section';
import { trainingRunsSection } from './sections/training-runs/section';
import { stylesheet } from './page/stylesheet';

/** Renders a campaign as one HTML page that needs nothing else: no script, no font, no request. */
export function renderReport(report: CampaignReport): string {
  const sections = [
    heldOutSection,
    stepsSection,
    failuresSection,
    signalsSection,
    taskPoolSection,
    modelsSection,
    judgeSection,
    pairsSection,
    timeAndCostSection,
    trainingRunsSection,
    trainingCurvesSection,
    attemptsSection,
    lineageSection,
    readingSection,
  ].flatMap((section) => section(report) ?? []); // what a recipe has no use for is left out

  const page = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${report.campaign.name} · campaign report</title>
      <style>
        ${trusted(stylesheet)}
      </style>
    </head>
    <body>
      ${renderHeader(report)}
      <main>
        <nav aria-label="Sections">
          <ol>
            ${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
          </ol>
        </nav>
        ${sections.map(renderSection)}
      </main>
    </body>
  </html>`;
  return `<!doctype html>\n${page.markup}\n`;
}
