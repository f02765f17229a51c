import { type RecipeName, recipes } from '../../domain/campaign/recipe';
import type { Phase } from '../../domain/campaign/phases';
import type { CampaignReport } from '../collect-report';
import { type Chart, figure } from '../charts/figure';
import { type Content, html, type Html } from './html';
import { counted } from './format';

export type Section = { id: string; title: string; body: Content };

export const renderSection = ({ id, title, body }: Section): Html =>
  html`<section id="${id}" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    ${body}
  </section>`;

export const lead = (...content: Content[]): Html => html`<p class="lead">${content}</p>`;

export const note = (...content: Content[]): Html => html`<p class="note">${content}</p>`;

/** Charts of equal size, three beside each other, or four where that leaves none over or there are many. */
export function panels(charts: readonly Chart[]): Html {
  const four = charts.length % 4 === 0 || charts.length > 6;
  const figures = charts.map((chart) => figure(chart, four ? 236 : 300));
  return html`<div class="panels ${four ? 'four' : ''}">${figures}</div>`;
}

/** Names of colours, for charts whose bars have parts. */
export const key = (entries: readonly (readonly [colour: string, name: string])[]): Html =>
  html`<p class="key">
    ${entries.map(([colour, name]) => html`<span><i style="background:${colour}"></i>${name}</span> `)}
  </p>`;

/** Why a section has nothing to show: the recipe leaves the phase out, or nothing came of it yet. */
export function absence({ campaign }: CampaignReport, phase: Phase, nothingSaid: string): Html {
  const recipe = recipes[campaign.recipe as RecipeName];
  const after = Math.max(0, campaign.iterations - 1);
  if (recipe && !(recipe.phases as readonly Phase[]).includes(phase))
    return note(`${nothingSaid}: recipe ${recipe.name} (${recipe.summary}) has no phase “${phase}”.`);
  if (after === 0) return note(`${nothingSaid}: no iteration after the supervised start has begun.`);
  return note(`${nothingSaid} in ${counted(after, 'iteration')} after the supervised start.`);
}

export const roleColour = (role: string): string =>
  ['target', 'failure', 'positive'].includes(role) ? `var(--${role})` : 'var(--neutral)';

export const agentName = (role: string): string => (role === 'target' ? 'target' : `${role} agent`);
