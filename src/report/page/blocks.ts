import { type RecipeName, recipes } from '../../domain/campaign/recipe';
import type { Phase } from '../../domain/campaign/phases';
import { counted } from './format';
import { type Content, html, type Html } from './html';
import type { CampaignHeader } from './section';

export const lead = (...content: Content[]): Html => html`<p class="lead">${content}</p>`;

export const note = (...content: Content[]): Html => html`<p class="note">${content}</p>`;

/** Names of colours, for charts whose bars have parts. */
export const key = (entries: readonly (readonly [colour: string, name: string])[]): Html =>
  html`<p class="key">
    ${entries.map(([colour, name]) => html`<span><i style="background:${colour}"></i>${name}</span> `)}
  </p>`;

/** Explains an empty section: the recipe has no such phase, or the phase has given nothing yet. */
export function absence(campaign: CampaignHeader, phase: Phase, finding: string): Html {
  const recipe = recipes[campaign.recipe as RecipeName];
  const after = Math.max(0, campaign.iterations - 1);
  if (recipe && !(recipe.phases as readonly Phase[]).includes(phase))
    return note(`${finding}: recipe ${recipe.name} (${recipe.summary}) has no phase “${phase}”.`);
  if (after === 0) return note(`${finding}: no iteration after the supervised start has begun.`);
  return note(`${finding} in ${counted(after, 'iteration')} after the supervised start.`);
}

export const roleColour = (role: string): string =>
  ['target', 'failure', 'positive'].includes(role) ? `var(--${role})` : 'var(--neutral)';

export const agentName = (role: string): string => (role === 'target' ? 'target' : `${role} agent`);
