import { type Content, html, type Html } from '../../tables/html';

export const lead = (...content: Content[]): Html => html`<p class="lead">${content}</p>`;

export const note = (...content: Content[]): Html => html`<p class="note">${content}</p>`;

/** Text whose parts between backticks are commands or names. */
export const withCode = (text: string): Html =>
  html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`;

export const badge = (name: string, text: string = name): Html => html`<span class="badge ${name}">${text}</span>`;

/** Names of colours, for charts whose bars have parts. */
export const key = (entries: readonly (readonly [colour: string, name: string])[]): Html =>
  html`<p class="key">
    ${entries.map(([colour, name]) => html`<span><i style="background:${colour}"></i>${name}</span> `)}
  </p>`;

/** Names with their values, at the top of a page. */
export const facts = (entries: readonly (readonly [name: string, value: Content])[]): Html =>
  html`<dl class="facts">
    ${entries.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
