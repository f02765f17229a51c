/** Markup that is safe to put into a page. Only this file creates it from text. */
export type Html = { readonly markup: string };

export type Content = Html | string | number | null | readonly Content[];

/** Template whose values are escaped unless they are markup: unescaped text cannot reach the page. */
export function html(parts: TemplateStringsArray, ...values: Content[]): Html {
  return { markup: parts.map((part, i) => part + (i < values.length ? render(values[i]!) : '')).join('') };
}

/** Marks markup of a source that escapes its own text: the stylesheet and the charts. */
export const trusted = (markup: string): Html => ({ markup });

export const escapeText = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

function render(content: Content): string {
  if (content === null) return '';
  if (typeof content === 'string' || typeof content === 'number') return escapeText(String(content));
  return 'markup' in content ? content.markup : content.map(render).join('');
}
