import * as fc from 'fast-check';
import type { CampaignState, IterationProgress } from '../../../src/domain/campaign/progress';
import { campaignDetails, iterationDetails } from '../../../src/workflows/temporal/details';

type Node = { type: string; value?: string; children?: Node[] };

let parse: (markdown: string) => Node;

beforeAll(async () => {
  const { fromMarkdown } = await import('mdast-util-from-markdown'); // ES modules
  const { gfmFromMarkdown } = await import('mdast-util-gfm');
  const { gfm } = await import('micromark-extension-gfm');
  // GitHub's Markdown, which makes a link of a bare address
  parse = (markdown) => fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
});

const nodesOf = (node: Node): Node[] => [node, ...(node.children ?? []).flatMap(nodesOf)];

const progress = (parked: string): IterationProgress => ({
  iteration: 1,
  phase: 'rollout',
  note: null,
  score: null,
  phases: [{ phase: 'rollout', note: null, seconds: null }],
  parked,
});

const state = (text: string): CampaignState => ({
  campaignId: 1,
  name: 'c',
  recipe: 'combined',
  environment: text,
  iterations: 2,
  stopping: false,
  scores: [],
  status: 'paused',
  pausedBy: text,
  progress: progress(text),
});

const pieces = [
  '[a](http://evil.example)',
  '![i](http://evil.example/i.png)',
  '<img src=x>',
  '<b>',
  'http://evil.example',
  'www.evil.example',
  'a@evil.example',
  '`',
  '``',
  '```',
  '\n',
  '\n\n',
  '\r\n',
  '> ',
  '# ',
  '| a |',
  '\\',
  '~~~',
  ' ',
  '[r]: http://evil.example',
  '&lt;',
  '**',
  'text',
  '\u2028',
  '    ',
  '- ',
];

const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((found) => found.join(''));

const known = new Set([
  'root',
  'heading',
  'paragraph',
  'blockquote',
  'text',
  'strong',
  'inlineCode',
  'table',
  'tableRow',
  'tableCell',
]);

test('text of a reason, an environment or an operator makes no link, image or HTML in the details', () => {
  fc.assert(
    fc.property(texts, (text) => {
      for (const markdown of [campaignDetails(state(text)), iterationDetails(progress(text))]) {
        const types = nodesOf(parse(markdown)).map(({ type }) => type);
        expect(types.filter((type) => !known.has(type))).toEqual([]);
      }
    }),
    { numRuns: 300 },
  );
});

test('the text of a reason stays readable', () => {
  const found = nodesOf(parse(iterationDetails(progress('run `coevolve up`'))));
  expect(found).toContainEqual(expect.objectContaining({ type: 'inlineCode', value: 'run `coevolve up`' }));
});
