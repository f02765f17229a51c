import * as echarts from 'echarts';
import { escapeText, html, type Html, trusted } from '../page/html';

export type Chart = {
  title: string;
  /** What the chart says, for those who cannot see it. */
  description: string;
  height: number; // px
  option: echarts.EChartsOption;
};

/** Charts of equal size: four in a row if their number is divisible by four or above six, otherwise three. */
export function panels(charts: readonly Chart[]): Html {
  const four = charts.length % 4 === 0 || charts.length > 6;
  const figures = charts.map((chart) => figure(chart, four ? 236 : 300));
  return html`<div class="panels ${four ? 'four' : ''}">${figures}</div>`;
}

/**
 * Draws a chart to inline SVG. Colours are CSS variables, so that one drawing serves light and dark.
 *
 * @param width px of the drawing, which is scaled to its column: the nearer to it, the nearer its text to 11 px
 */
export function figure({ title, description, height, option }: Chart, width: number): Html {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({ animation: false, textStyle: { fontFamily: 'inherit', color: 'var(--muted)' }, ...option });
    const drawing = strip(chart.renderToSVGString());
    const [name, text] = [escapeText(title), escapeText(description)];
    return trusted(
      `<figure style="max-width:${Math.round(width * 1.3)}px"><figcaption>${name}</figcaption>` +
        `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${name}: ${text}"><title>${name}</title>` +
        `<desc>${text}</desc>${drawing}</svg></figure>`,
    );
  } finally {
    chart.dispose(); // an undisposed chart keeps a timer, and with it the process, alive
  }
}

/**
 * The drawing alone: without the root element, hover rules and attributes that only a live chart reads, and without the
 * clipping of lines, whose ids count charts and would make every page another. No line leaves its frame.
 */
const strip = (svg: string): string =>
  svg
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/^<svg[^>]*>|<\/svg>\s*$/g, '')
    .replace(/<defs[^]*?<\/defs>/g, '')
    .replace(/ (?:class|clip-path|pointer-events|ecmeta_\w+)="[^"]*"/g, '')
    .replace(/ (?:d|transform|x|y|width|height|cx|cy)="[^"]*"/g, (place) => place.replace(/(\.\d)\d+/g, '$1')) // 0.1 px
    .replace(/>\s+</g, '><')
    .trim();
