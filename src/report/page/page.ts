import { createHash } from 'node:crypto';
import { type Content, html, type Html, trusted } from './html';
import { stylesheet } from './stylesheet';

export type PageSection = { id: string; title: string; body: Content };

/** Renders a self-contained HTML page: without scripts, fonts or requests. Sections without a body are left out. */
export function renderPage(title: string, header: Content, sections: readonly PageSection[]): string {
  const shown = sections.filter(({ body }) => body !== null);
  const page = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta http-equiv="Content-Security-Policy" content="${contentPolicy}" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${title}</title>
      ${trusted(`<style>${stylesheet}</style>`)}
    </head>
    <body>
      ${header}
      <main>
        <nav aria-label="Sections">
          <ol>
            ${shown.map(({ id, title: name }) => html`<li><a href="#${id}">${name}</a></li>`)}
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
const renderSection = ({ id, title, body }: PageSection): Html =>
  html`<section id="${id}" aria-labelledby="${id}-title">
    <details class="part">
      <summary><h2 id="${id}-title">${title}</h2></summary>
      ${body}
    </details>
  </section>`;
