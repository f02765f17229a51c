import * as echarts from 'echarts';
import { escapeText, type Html, trusted } from '../../tables/html';

export type Chart = {
  title: string;
  /** Text alternative with the numbers of the chart. */
  description: string;
  height: number; // px
  option: echarts.EChartsOption;
};

/**
 * Draws a chart as inline SVG. Colours are CSS variables, so that one drawing fits the light and the dark style.
 *
 * @param width of the drawing in px; the page scales it to the column, and text has 11 px where both are equal
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
    chart.dispose(); // an undisposed chart keeps a timer that blocks the exit of the process
  }
}

/**
 * Removes the root element, hover rules, attributes for interactive charts, and clip paths. Ids of clip paths contain a
 * counter of charts, so equal reports would differ; no line of the report leaves its frame.
 */
const strip = (svg: string): string =>
  svg
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/^<svg[^>]*>|<\/svg>\s*$/g, '')
    .replace(/<defs[^]*?<\/defs>/g, '')
    .replace(/ (?:class|clip-path|pointer-events|ecmeta_\w+)="[^"]*"/g, '')
    .replace(/ (?:d|transform|x|y|width|height|cx|cy)="[^"]*"/g, (attribute) => attribute.replace(/(\.\d)\d+/g, '$1')) // 0.1 px
    .replace(/>\s+</g, '><')
    .trim();
