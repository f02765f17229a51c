import type { z } from 'zod';
import { count, counted, decimal } from '../../domain/formats';
import { html, type Html } from '../../tables/html';
import type { Turn } from '../rows/campaign-rows';
import { addressWith } from './frame';
import type { TokenTexts } from './token-texts';

export type ShownTurn = z.infer<typeof Turn>;

/** How the turns of a page are shown. */
export type TurnView = {
  texts: TokenTexts;
  /** Address of the page, and the number of the action whose texts are shown whole. */
  here: { path: string; parameters: Readonly<Record<string, string>> };
  whole: number | null;
};

/** Characters of a text that a page of many turns shows. */
const shownCharacters = 4_000;

/** An action with its tokens, and the messages that answered it. */
export function turnView(turn: ShownTurn, view: TurnView): Html {
  const { ordinal, action, observation } = turn;
  const isWhole = view.whole === ordinal + 1;
  const cut = (text: string): string => (isWhole ? text : text.slice(0, shownCharacters));
  const texts = [action, ...observation.map(({ content }) => String(content))];
  const hidden = texts.reduce((sum, text) => sum + text.length - cut(text).length, 0);
  return html`<p class="note">action ${ordinal + 1}${sampling(turn)}</p>
    <pre class="action">${isWhole || hidden === 0 ? (heat(turn, view.texts) ?? action) : cut(action)}</pre>
    ${observation.map(({ role, content }) => html`<pre class="observation" title="${role}">${cut(String(content))}</pre>`)}
    ${
      hidden === 0
        ? null
        : html`<p class="note">
            <a href="${addressWith(view.here.path, { ...view.here.parameters, whole: ordinal + 1 })}"
              >${count(hidden)} more characters</a
            >
          </p>`
    }`;
}

/** The probability of an action by token is the geometric mean of its tokens' probabilities. */
function sampling({ logprobs }: ShownTurn): string {
  if (!logprobs || logprobs.length === 0) return '';
  const mean = logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length;
  return `, ${counted(logprobs.length, 'token')}, probability of a token ${decimal(Math.exp(mean))}`;
}

/** Probabilities below which a token is marked, with a stronger colour for each that it falls below. */
const marks = [0.9, 0.5, 0.2, 0.05];

/** The action as its tokens, the less probable ones marked; null unless each token has a text and a probability. */
function heat({ token_ids: ids, logprobs }: ShownTurn, texts: TokenTexts): Html | null {
  const tokens = ids && logprobs?.length === ids.length ? texts(ids) : null;
  if (tokens === null) return null;
  return html`${tokens.map((token, i) => {
    const probability = Math.exp(logprobs![i]!);
    const level = marks.filter((mark) => probability < mark).length;
    return level === 0
      ? token
      : html`<mark class="p${level}" title="probability ${decimal(probability)}">${token}</mark>`;
  })}`;
}
