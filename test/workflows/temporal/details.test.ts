import * as fc from 'fast-check';
import type { CampaignState, IterationProgress, Promotion } from '../../../src/domain/campaign/progress';
import { campaignDetails, enterJob, iterationDetails } from '../../../src/workflows/temporal/details';

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
  phases: [{ phase: 'rollout', note: parked, seconds: null }],
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

const known = new Set(['root', 'heading', 'paragraph', 'blockquote', 'text', 'strong', 'inlineCode', 'code']);

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

test('the columns of phases, scores and spending are aligned, and a decision names the candidate', () => {
  const of = (iteration: number, score: number, promotion: Promotion) => ({
    iteration,
    score,
    promotion,
    low: 0.1,
    high: 0.4,
  });
  const spending = { committed: { llmTokens: 2400, usd: 0 }, limit: { llmTokens: null, usd: 5 } };
  const markdown = campaignDetails({
    ...state('intercode-sql'),
    status: 'running',
    scores: [of(1, 0.23, { candidate: 0.23, promoted: true }), of(2, 0.23, { candidate: 0.2, promoted: false })],
    progress: {
      ...progress(''),
      iteration: 3,
      parked: null,
      spending,
      phases: [
        { phase: 'plan', note: 'train tasks 24, held-out tasks 1,000, another count 12', seconds: 2400 },
        { phase: 'rollout', note: null, seconds: null },
      ],
      score: 0.23,
      promotion: { candidate: 0.21, promoted: false },
    },
  });
  const blocks = nodesOf(parse(markdown)).filter(({ type }) => type === 'code');
  expect(blocks.map(({ value }) => value)).toEqual([
    expect.stringMatching(
      /^█+░+ 50 % of the phases\n✓ {2}plan {5}40 min 0 s {2}train tasks 24, held-out tasks 1,000,\n {24}another count 12\n▶ {2}rollout$/,
    ),
    [
      'iteration  candidate  decision            active  interval on dev',
      '        1      0.230  promoted             0.230  0.100 to 0.400',
      '        2      0.200  kept the incumbent   0.230  0.100 to 0.400',
    ].join('\n'),
    [
      'budget               spent     limit',
      'tokens of models     2,400  no limit',
      'models and training  $0.00     $5.00',
    ].join('\n'),
  ]);
  expect(markdown).toContain("candidate's success on dev 0.210: kept the incumbent, success 0.230");
});

test('an ended job disappears, and the base with the first job of an agent', () => {
  const jobs = new Map<string, string>();
  enterJob(jobs, { role: 'base', line: 'step 0' });
  enterJob(jobs, { role: 'target', line: 'step 1 of 2', ended: false });
  enterJob(jobs, { role: 'failure', line: 'step 1 of 2' }); // of release 0.1.0
  expect([...jobs.keys()]).toEqual(['target', 'failure']);
  enterJob(jobs, { role: 'target', line: 'step 2 of 2', ended: true });
  expect([...jobs]).toEqual([['failure', 'step 1 of 2']]);
});
