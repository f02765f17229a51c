import { createHash } from 'node:crypto';
import type { CampaignReport } from './collect-report';
import { type Content, html, type Html, trusted } from './page/html';
import { stylesheet } from './page/stylesheet';
import { sections } from './sections';
import { renderHeader } from './sections/header/section';

/** Renders a campaign as one self-contained HTML page: without scripts, fonts or requests. */
export function renderReport(report: CampaignReport): string {
  const shown = sections
    .map((section) => ({ id: section.id, title: section.title, body: section.render(report) }))
    .filter(({ body }) => body !== null);

  const page = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta http-equiv="Content-Security-Policy" content="${contentPolicy}" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${report.campaign.name} · campaign report</title>
      ${trusted(`<style>${stylesheet}</style>`)}
    </head>
    <body>
      ${renderHeader(report)}
      <main>
        <nav aria-label="Sections">
          <ol>
            ${shown.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
          </ol>
        </nav>
        ${shown.map(renderSection)}
      </main>
    </body>
  </html>`;
  return `<!doctype html>\n${page.markup}\n`;
}

/**
 * Second wall behind the escaping of text: the browser runs no script, sends no request and applies no stylesheet but
 * ours. The charts set colours and sizes in attributes.
 */
const contentPolicy = [
  "default-src 'none'",
  `style-src-elem 'sha256-${createHash('sha256').update(stylesheet).digest('base64')}'`,
  "style-src-attr 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** A closed section: a narrow screen shows its heading; the stylesheet opens it on a wide screen and in print. */
const renderSection = ({ id, title, body }: { id: string; title: string; body: Content }): Html =>
  html`<section id="${id}" aria-labelledby="${id}-title">
    <details class="part">
      <summary><h2 id="${id}-title">${title}</h2></summary>
      ${body}
    </details>
  </section>`;
