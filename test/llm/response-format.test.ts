import { responseFormatOf } from '../../src/llm/response-format';
import { abstractionPrompt } from '../../src/llm/prompts/abstraction';
import { judgePrompt } from '../../src/llm/prompts/judge';
import { reflectionPrompt } from '../../src/llm/prompts/reflection';

type Part = { type?: string; properties?: Record<string, Part>; items?: Part; maxLength?: number; maxItems?: number };

/** Returns the texts and lists of a schema with their paths. */
const partsOf = (part: Part, path = ''): [string, Part][] => [
  ...(part.type === 'string' || part.type === 'array' ? [[path, part] satisfies [string, Part]] : []),
  ...Object.entries(part.properties ?? {}).flatMap(([name, child]) => partsOf(child, `${path}/${name}`)),
  ...(part.items ? partsOf(part.items, `${path}[]`) : []),
];

const schemaOf = (structured: 'schema' | 'lengths', { schema }: { schema: Parameters<typeof responseFormatOf>[2] }) =>
  (responseFormatOf(structured, 'a-prompt@1', schema) as { json_schema: { schema: Part } }).json_schema.schema;

test.each([reflectionPrompt, abstractionPrompt, judgePrompt])(
  'by `lengths` every text and list of $name has a maximum and keeps its minimum, and by `schema` texts have neither',
  (prompt) => {
    const bounded = partsOf(schemaOf('lengths', prompt));
    expect(bounded.length).toBeGreaterThan(4);
    for (const [path, part] of bounded)
      expect([path, part.type === 'array' ? part.maxItems : part.maxLength]).toEqual([path, expect.any(Number)]);
    expect(JSON.stringify(bounded)).toContain('"minLength":1');
    expect(JSON.stringify(schemaOf('schema', prompt))).not.toMatch(/m(?:in|ax)Length|maxItems/);
  },
);

test('actions may be as long as code, and a note of the judge is short', () => {
  const lengths = (prompt: Parameters<typeof schemaOf>[1]) =>
    Object.fromEntries(
      partsOf(schemaOf('lengths', prompt)).map(([path, part]) => [path, part.maxLength ?? part.maxItems]),
    );
  expect(lengths(abstractionPrompt)).toMatchObject({
    '/candidates': 16,
    '/candidates[]/actions': 64,
    '/candidates[]/actions[]': 4000,
    '/candidates[]/query': 1500,
  });
  expect(lengths(judgePrompt)).toMatchObject({ '/criteria/finalResult/note': 200, '/reason': 600 });
});
