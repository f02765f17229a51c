import type { Context } from 'hono';
import { renderDocument, servedPolicy, type Followed } from '../../report/page/page';
import { html, type Content, type Html } from '../../tables/html';
import type { ProblemStatus } from '../request/problem';

export type PageStatus = 200 | ProblemStatus;

/** Answers with a document that has the style of all pages. */
export const sendDocument = (context: Context, title: string, body: Content, status: PageStatus = 200): Response =>
  sendHtml(context, renderDocument(`${title} · coevolve`, body, { follows: null }), status);

/** The header repeats the policy of the document, so that nothing weaker holds. */
export const sendHtml = (context: Context, document: string, status: PageStatus = 200): Response =>
  context.html(document, status, { 'content-security-policy': `${servedPolicy}; frame-ancestors 'none'` });

/** A page that is not a report: links to the pages above it, and its parts. */
export function sendPage(
  context: Context,
  trail: readonly Crumb[],
  parts: Content,
  { follows = null, status = 200 }: { follows?: Followed | null; status?: PageStatus } = {},
): Response {
  const title = trail.at(-1)!.name;
  const document = renderDocument(
    `${title} · coevolve`,
    [
      html`<header>
        ${crumbs(trail.slice(0, -1))}
        <h1>${title}</h1>
      </header>`,
      html`<main>${parts}</main>`,
    ],
    { follows },
  );
  return sendHtml(context, document, status);
}

export type Crumb = { name: string; href: string };

/** Links to the pages above; the key `u` follows the last one. */
export const crumbs = (trail: readonly Crumb[]): Html =>
  html`<p class="crumbs">
    ${trail.map(({ name, href }, i) =>
      i === trail.length - 1
        ? html`<a accesskey="u" href="${href}">${name}</a> / `
        : html`<a href="${href}">${name}</a> / `,
    )}
  </p>`;

export const home: Crumb = { name: 'Campaigns', href: '/' };

export const campaignCrumb = (name: string): Crumb => ({ name, href: `/c/${name}` });

/** Returns an address with the parameters that have a value. */
export function addressWith(
  path: string,
  parameters: Readonly<Record<string, string | number | null | undefined>>,
): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
  return given.length === 0 ? path : `${path}?${query.toString()}`;
}

/** Address of the events of a campaign, or of all. */
export const streamOf = (campaign?: string): string => addressWith('/stream', { campaign });
