const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };

/** What a reader sees of a piece of markup, with white space as a browser shows it. */
export const textOf = (markup: string): string =>
  markup
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity]!)
    .replace(/\s+/g, ' ')
    .trim();

/** The body of the table with a caption: its rows, cell by cell. */
export function tableOf(page: string, caption: string): string[][] {
  const table = page
    .match(/<table>[^]*?<\/table>/g)!
    .find((one) => textOf(/<caption>[^]*?<\/caption>/.exec(one)![0]) === caption);
  if (!table) throw new Error(`there is no table “${caption}”`);
  const body = table.slice(table.indexOf('<tbody>'));
  return body.match(/<tr>[^]*?<\/tr>/g)!.map((row) => row.match(/<t[hd][^]*?<\/t[hd]>/g)!.map(textOf));
}

/** The texts that are drawn in the chart with a title, in drawing order. */
export function chartLabels(page: string, title: string): string[] {
  const chart = page
    .match(/<figure[^]*?<\/figure>/g)!
    .find((one) => textOf(/<figcaption>[^]*?<\/figcaption>/.exec(one)![0]) === title);
  if (!chart) throw new Error(`there is no chart “${title}”`);
  return chart.match(/<text[^]*?<\/text>/g)!.map(textOf);
}
