import { createHash } from 'node:crypto';
import { html, type Html, trusted } from '../../tables/html';
import { type Block, renderBlocks, type Section } from './section';
import { stylesheet } from './stylesheet';

export type Page<Data> = { title: string; header: Html; sections: readonly Section<Data>[] };

/** Renders a self-contained HTML page: without scripts, fonts or requests. Sections without a body are left out. */
export function renderPage<Data>({ title, header, sections }: Page<Data>, data: Data): string {
  const shown = sections
    .map((section) => ({ ...section, blocks: section.body(data) }))
    .filter(({ blocks }) => blocks !== null);
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

type ShownSection = { id: string; title: string; blocks: Block | readonly Block[] };

/** A closed section: a narrow screen shows its heading; the stylesheet opens it on a wide screen and in print. */
const renderSection = ({ id, title, blocks }: ShownSection): Html =>
  html`<section id="${id}" aria-labelledby="${id}-title">
    <details class="part">
      <summary><h2 id="${id}-title">${title}</h2></summary>
      ${renderBlocks(blocks)}
    </details>
  </section>`;
