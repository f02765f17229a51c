import { html, type Html } from '../../tables/html';
import { htmlTable } from '../../tables/html-table';
import type { Table } from '../../tables/table';
import { type Chart, figure } from '../charts/figure';

/** Charts of equal size side by side. */
export type Panels = { charts: readonly Chart[]; width: number };

/** A part of a section. A condition that does not hold leaves its part out. */
export type Block = Html | Table | Panels | null | false;

/** A section of a page: from rows of queries to tables, charts and sentences. */
export type Section<Data> = {
  /** Anchor of the section in the page. */
  id: string;
  title: string;
  /** Returns the parts in their order, or null to leave the section out of the page. */
  body: (data: Data) => Block | readonly Block[];
};

/** Groups charts: four in a row if their number is divisible by four or above six, otherwise three; or of a given width. */
export const panels = (charts: readonly Chart[], width?: number): Panels => ({
  charts,
  width: width ?? (charts.length % 4 === 0 || charts.length > 6 ? 236 : 300),
});

/** Renders the parts of a section. */
export const renderBlocks = (blocks: Block | readonly Block[]): Html[] => [blocks].flat().map(renderBlock);

function renderBlock(block: Block): Html {
  if (!block) return html``;
  if ('markup' in block) return block;
  if ('rows' in block) return htmlTable(block);
  const figures = block.charts.map((chart) => figure(chart, block.width));
  return html`<div class="panels ${block.width < 300 ? 'four' : ''}">${figures}</div>`;
}
