const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };

/** Returns the visible text of markup, with white space as in a browser. */
export const textOf = (markup: string): string =>
  markup
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity]!)
    .replace(/\s+/g, ' ')
    .trim();

/** Returns the rows of the table with this caption, cell by cell. */
export function tableOf(page: string, caption: string): string[][] {
  const table = page
    .match(/<table>[^]*?<\/table>/g)!
    .find((candidate) => textOf(/<caption>[^]*?<\/caption>/.exec(candidate)![0]) === caption);
  if (!table) throw new Error(`the page has no table “${caption}”`);
  const body = table.slice(table.indexOf('<tbody>'));
  return body.match(/<tr>[^]*?<\/tr>/g)!.map((row) => row.match(/<t[hd][^]*?<\/t[hd]>/g)!.map(textOf));
}

/** Returns the texts of the chart with this title, in drawing order. */
export function chartLabels(page: string, title: string): string[] {
  const chart = page
    .match(/<figure[^]*?<\/figure>/g)!
    .find((candidate) => textOf(/<figcaption>[^]*?<\/figcaption>/.exec(candidate)![0]) === title);
  if (!chart) throw new Error(`the page has no chart “${title}”`);
  return chart.match(/<text[^]*?<\/text>/g)!.map(textOf);
}
