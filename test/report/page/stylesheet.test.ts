import { renderReport } from '../../../src/report/campaign/campaign-report';
import { stylesheet } from '../../../src/report/page/stylesheet';
import { campaignRows } from '../campaign-rows';
import { expectedReport } from '../expected-report';

const page = renderReport(expectedReport(campaignRows()));

/** The colour variables of each scheme: the dark scheme replaces every variable of the light one. */
const schemes = ((): [string, Map<string, string>][] => {
  const [light, dark] = [...stylesheet.matchAll(/:root \{([^}]*)\}/g)].map(([, text]) => colours(text!));
  return [
    ['light', light!],
    ['dark', new Map([...light!, ...dark!])],
  ];
})();

function colours(text: string): Map<string, string> {
  return new Map([...text.matchAll(/--([\w-]+): (#[0-9a-f]{6})\b/g)].map(([, name, value]) => [name!, value!]));
}

/** Relative luminance of WCAG 2.2. */
function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

/** Colours of marks in charts and in their keys; grid lines and halos separate, but carry no data. */
const marks = new Set(
  [...page.matchAll(/<svg[^]*?<\/svg>|<i style="[^"]*"/g)]
    .flatMap(([drawing]) => [...drawing.matchAll(/var\(--([\w-]+)\)/g)].map(([, name]) => name!))
    .filter((name) => !['rule', 'card'].includes(name)),
);

test('the contrast of black and white is 21, and that of #777777 and white 4.48', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 10);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

test('charts use at least nine colours, all from variables', () => {
  expect(marks.size).toBeGreaterThanOrEqual(9);
  const literal = [...page.matchAll(/(?:fill|stroke)="(#[^"]*|rgb[^"]*)"/g)].map(([, colour]) => colour);
  expect(literal).toEqual([]);
});

describe.each(schemes)('in the %s scheme', (_, scheme) => {
  test('every mark of a chart has a contrast of at least 3 to the card and to the page', () => {
    const found = [...marks].flatMap((name) =>
      ['card', 'page'].map((ground) => ({
        pair: `${name} on ${ground}`,
        ratio: contrast(scheme.get(name)!, scheme.get(ground)!),
      })),
    );
    expect(found.filter(({ ratio }) => !(ratio >= 3))).toEqual([]);
  });

  test.each([
    ...['ink', 'muted', 'target'].map((text) => [text, 'card']),
    ...['ink', 'muted'].flatMap((text) => ['page', 'code'].map((ground) => [text, ground])),
    ...['good', 'warn', 'bad'].map((text) => [text, `${text}-soft`]),
  ])('the text colour %s has a contrast of at least 4.5 to %s', (text, ground) => {
    expect(contrast(scheme.get(text)!, scheme.get(ground)!)).toBeGreaterThanOrEqual(4.5);
  });
});

test('every section is closed, with its heading as the summary, and opens on a wide screen and in print', () => {
  const sections = page.match(/<section[^]*?<\/section>/g)!;
  expect(sections.length).toBeGreaterThan(10);
  for (const section of sections)
    expect(section).toMatch(/^<section [^>]*>\s*<details class="part">\s*<summary><h2[^>]*>[^<]+<\/h2><\/summary>/);
  const opened = (at: string): string => stylesheet.slice(stylesheet.indexOf(at)).split('\n@media')[0]!;
  expect(opened('@media screen and (min-width: 761px)')).toMatch(/\.part::details-content \{[^}]*visibility: visible/);
  expect(opened('@media print')).toMatch(/details::details-content \{[^}]*visibility: visible/);
});

test('styles of a collapsed table, such as its hidden caption, do not apply to a whole section', () => {
  const selectors = [...stylesheet.matchAll(/^\s*([^@{}]+) \{/gm)].flatMap(([, list]) => list!.split(', '));
  expect(selectors.filter((selector) => /^details .*\bcaption$/.test(selector))).toEqual([]);
  expect(selectors.filter((selector) => selector.startsWith('details '))).toEqual([]);
  expect(selectors).toContain('details:not(.part) caption');
});

test('no element is wider than a narrow screen: tables scroll in a box, columns shrink, text wraps', () => {
  const tables = page.match(/<table>/g)!.length;
  expect(page.match(/<div class="scroll" role="group" aria-label="[^"]+" tabindex="0">\s*<table>/g)).toHaveLength(
    tables,
  );
  expect(stylesheet).toMatch(/\.scroll \{[^}]*overflow-x: auto/);
  expect(stylesheet).toMatch(/body \{[^}]*overflow-wrap: anywhere/);
  expect(page).toContain('<meta name="viewport" content="width=device-width, initial-scale=1" />');
  const columns = [...stylesheet.matchAll(/grid-template-columns: ([^;]+);/g)].map(([, value]) => value!);
  for (const value of columns) {
    const ofScreen = value.replaceAll(/minmax\((?:0|min\(\d+px, 100%\)), [\d.]+fr\)/g, '');
    expect(ofScreen).not.toMatch(/(?<!repeat\([34], )\b[\d.]+fr/); // 1fr alone never shrinks below its content
  }
  const widths = [...page.matchAll(/<(?!svg|rect)[a-z]+[^>]* (?:style="[^"]*\bmin-width|width="\d)/g)];
  expect(widths).toEqual([]);
});
