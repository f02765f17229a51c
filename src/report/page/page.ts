import { createHash } from 'node:crypto';
import { type Content, html, type Html, trusted } from '../../tables/html';
import { type Block, renderBlocks, type Section } from './section';
import { stylesheet } from './stylesheet';

export type Page<Data> = { title: string; header: Html; sections: readonly Section<Data>[] };

/** A page of a server may contain forms, and follows its campaign while it runs. */
export type Served = { follows: Followed | null };

/** Parts of a server's page around the title of a report: links to the pages above, and the state as of now. */
export type LiveParts = { above: Html; below: Html };

/** `stream`: address of the events that change the page. What no event announces is at most `seconds` old. */
export type Followed = { seconds: number; stream: string };

/** Renders an HTML page as a single file without scripts or requests. */
export const renderPage = <Data>({ title, header, sections }: Page<Data>, data: Data): string =>
  renderDocument(title, [header, renderSections(sections, data)]);

/** Renders the sections below a list of links to them. Sections without a body are left out. */
export function renderSections<Data>(sections: readonly Section<Data>[], data: Data): Html {
  const shown = sections
    .map((section) => ({ ...section, blocks: section.body(data) }))
    .filter(({ blocks }) => blocks !== null);
  const links = shown.map(({ id, title: name }) => html`<li><a href="#${id}">${name}</a></li>`);
  const nav = html`<nav aria-label="Sections">
    <ol>
      ${links}
    </ol>
  </nav>`;
  return html`<main>${nav} ${shown.map(renderSection)}</main>`;
}

/** Renders a whole document with the style of all pages. */
export function renderDocument(title: string, body: Content, served?: Served): string {
  const page = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta http-equiv="Content-Security-Policy" content="${served ? servedPolicy : contentPolicy}" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      ${served ? scriptOf(served) : null}
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

/** A browser without scripts loads the page again. */
const scriptOf = ({ follows }: Served): Html =>
  follows === null
    ? html`<script src="${scriptPath}" defer></script>`
    : html`<script src="${scriptPath}" defer data-seconds="${follows.seconds}" data-stream="${follows.stream}"></script>
        <noscript><meta http-equiv="refresh" content="${follows.seconds}" /></noscript>`;

/** Where a server has the script of its pages. */
export const scriptPath = '/page.js';

/** The policy of a page that a server sends: its forms, its script and the requests of this script are the server's. */
export const servedPolicy = [
  contentPolicy.replace("form-action 'none'", "form-action 'self'"),
  "script-src-elem 'self'",
  "connect-src 'self'",
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
