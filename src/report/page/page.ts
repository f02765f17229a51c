import { createHash } from 'node:crypto';
import { type Content, html, type Html, trusted } from '../../tables/html';
import { type Block, renderBlocks, type Section } from './section';
import { stylesheet } from './stylesheet';

export type Page<Data> = { title: string; header: Html; sections: readonly Section<Data>[] };

/** A page of a server may contain forms, and loads itself again after some seconds while its campaign runs. */
export type Served = { refreshSeconds: number | null };

/** Renders a self-contained HTML page: without scripts, fonts or requests. Sections without a body are left out. */
export function renderPage<Data>({ title, header, sections }: Page<Data>, data: Data, served?: Served): string {
  const shown = sections
    .map((section) => ({ ...section, blocks: section.body(data) }))
    .filter(({ blocks }) => blocks !== null);
  const links = shown.map(({ id, title: name }) => html`<li><a href="#${id}">${name}</a></li>`);
  const nav = html`<nav aria-label="Sections">
    <ol>
      ${links}
    </ol>
  </nav>`;
  return renderDocument(title, [header, html`<main>${nav} ${shown.map(renderSection)}</main>`], served);
}

/** Renders a whole document with the style of all pages. */
export function renderDocument(title: string, body: Content, served?: Served): string {
  const refresh = served?.refreshSeconds ?? null;
  const page = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta http-equiv="Content-Security-Policy" content="${served ? servedPolicy : contentPolicy}" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      ${refresh === null ? null : html`<meta http-equiv="refresh" content="${refresh}" />`}
      <title>${title}</title>
      ${trusted(`<style>${stylesheet}</style>`)}
    </head>
    <body>
      ${body}
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

/** The policy of a page that a server sends: its forms go back to the server. */
export const servedPolicy = contentPolicy.replace("form-action 'none'", "form-action 'self'");

type ShownSection = { id: string; title: string; blocks: Block | readonly Block[] };

/** A closed section: a narrow screen shows its heading; the stylesheet opens it on a wide screen and in print. */
const renderSection = ({ id, title, blocks }: ShownSection): Html =>
  html`<section id="${id}" aria-labelledby="${id}-title">
    <details class="part">
      <summary><h2 id="${id}-title">${title}</h2></summary>
      ${renderBlocks(blocks)}
    </details>
  </section>`;
