import { z } from 'zod';
import { readStructured } from '../../src/llm/read-structured';

const schema = z.object({ score: z.number().min(0).max(1), reasons: z.array(z.string()) });

const good = { score: 0.5, reasons: ['it ran'] };

test('a reply that matches the schema is returned as a value', () => {
  expect(readStructured({ kind: 'text', text: JSON.stringify(good) }, schema)).toEqual({ ok: true, value: good });
});

test('the last object that matches the schema is the answer', () => {
  const text = `{"score": 1, "reasons": []} or rather ${JSON.stringify(good)}, see {"note": 1}`;
  expect(readStructured({ kind: 'text', text }, schema)).toEqual({ ok: true, value: good });
});

test('an answer that was cut off after the object is complete', () => {
  const text = `${JSON.stringify(good)} because`;
  expect(readStructured({ kind: 'cut-off', at: 'limit', text }, schema)).toEqual({ ok: true, value: good });
});

test.each([
  {
    reply: { kind: 'text', text: 'I would say 0.5' } as const,
    failure: 'malformed',
    problems: ['found no JSON object, expected one'],
  },
  {
    reply: { kind: 'text', text: '{"score": 7, "reasons": "none"}' } as const,
    failure: 'malformed',
    problems: ['score: found 7, expected at most 1', 'reasons: found "none", expected a list'],
  },
  {
    reply: { kind: 'cut-off', at: 'limit', text: '{"score": 0.5, "reas' } as const,
    failure: 'cut-off',
    problems: ['the answer reached maxTokens and thinkingTokens before it was complete'],
  },
  {
    reply: { kind: 'cut-off', at: 'context', text: '' } as const,
    failure: 'cut-off',
    problems: ["the prompt left too little room in the model's context"],
  },
  {
    reply: { kind: 'refused', reason: 'I may not judge' } as const,
    failure: 'refused',
    problems: ['I may not judge'],
  },
])('the reply $reply results in the failure $failure', ({ reply, failure, problems }) => {
  expect(readStructured(reply, schema)).toEqual({ ok: false, failure, problems });
});
