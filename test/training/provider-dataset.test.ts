import * as fc from 'fast-check';
import { providerDataset } from '../../src/training/provider-dataset';

const system = { role: 'system', content: 'Write SQL.' };
const user = { role: 'user', content: 'How many ships?' };
const says = (content: string) => ({ role: 'assistant', content });
const sees = (content: string) => ({ role: 'tool', content });

const sft = (...messages: object[]) => providerDataset([JSON.stringify({ trajectory_id: 't', messages })], 'sft');
const dpo = (chosen: object[], rejected: object[]) =>
  providerDataset([JSON.stringify({ chosen: { messages: chosen }, rejected: { messages: rejected } })], 'dpo');
const parsed = (lines: string[]): unknown[] => lines.map((line) => JSON.parse(line) as unknown);

test('a demonstration is its conversation until the last action, with results that the user says', () => {
  const { lines, dropped } = sft(system, user, says('select 1'), sees('1'), says('submit'), sees('done'));
  expect(parsed(lines)).toEqual([
    { messages: [system, user, says('select 1'), { role: 'user', content: '1' }, says('submit')] },
  ]);
  expect(dropped).toEqual({});
});

test('a pair is compared at its first different action, under what both have seen', () => {
  const shared = [user, says('show tables'), sees('ships')];
  const { lines } = dpo([...shared, says('good'), sees('yes'), says('submit')], [...shared, says('bad'), sees('no')]);
  expect(parsed(lines)).toEqual([
    {
      input: { messages: [user, says('show tables'), { role: 'user', content: 'ships' }] },
      preferred_output: [says('good')],
      non_preferred_output: [says('bad')],
    },
  ]);
});

test.each([
  {
    reason: 'environments-differ',
    chosen: [user, says('a'), sees('1'), says('b')],
    rejected: [user, says('a'), sees('2')],
  },
  { reason: 'environments-differ', chosen: [user, says('a')], rejected: [system, says('b')] },
  { reason: 'same-actions', chosen: [user, says('a'), sees('1')], rejected: [user, says('a'), sees('1'), says('b')] },
  { reason: 'same-actions', chosen: [user, says('a')], rejected: [user, says('a')] },
])('a pair that has no such place is dropped and counted: $reason', ({ reason, chosen, rejected }) => {
  expect(dpo(chosen, rejected)).toEqual({ lines: [], dropped: { [reason]: 1 } });
});

test('a trajectory in which nobody acted is dropped and counted', () => {
  expect(sft(system, user)).toEqual({ lines: [], dropped: { 'no-action': 1 } });
});

test('rows of token ids are refused, by their number', () => {
  const rows = [JSON.stringify({ messages: [user, says('a')] }), JSON.stringify({ steps: [] })];
  expect(() => providerDataset(rows, 'sft')).toThrow(expect.objectContaining({ code: 'NotText' }));
  expect(() => providerDataset(rows, 'sft')).toThrow('row 2');
});

const content = fc.string({ maxLength: 3 });
const conversation = fc.array(fc.record({ role: fc.constantFrom('user', 'assistant', 'tool'), content }), {
  maxLength: 6,
});

test('every row is a line or is counted, and a line compares two different actions of the assistant', () => {
  const property = fc.property(fc.array(fc.tuple(conversation, conversation)), (pairs) => {
    const rows = pairs.map(([chosen, rejected]) =>
      JSON.stringify({ chosen: { messages: chosen }, rejected: { messages: rejected } }),
    );
    const { lines, dropped } = providerDataset(rows, 'dpo');
    expect(lines.length + Object.values(dropped).reduce((sum, n) => sum + n, 0)).toBe(rows.length);
    for (const line of lines) {
      const {
        preferred_output: [preferred],
        non_preferred_output: [other],
      } = JSON.parse(line);
      expect([preferred.role, other.role]).toEqual(['assistant', 'assistant']);
      expect(preferred.content).not.toBe(other.content);
    }
  });
  fc.assert(property, { numRuns: 200 });
});
