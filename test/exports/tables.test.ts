import { readFileSync } from 'node:fs';
import path from 'node:path';
import { exportedTables, queryOf } from '../../src/exports/tables';

test('the page about exports lists every column of every table with its meaning', () => {
  const page = readFileSync(path.resolve(__dirname, '../../docs/exports.md'), 'utf8');
  const sections = page.split('\n### ').slice(1);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(
    exportedTables.map(({ name }) => `${name}.parquet`),
  );
  for (const [i, { row, columns }] of exportedTables.entries()) {
    const rows = sections[i]!.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm);
    expect([...rows].map(([, name, meaning]) => [name, meaning])).toEqual(
      columns.map(({ name, meaning }) => [name, meaning]),
    );
    expect(sections[i]).toContain(`One row is ${row}.`);
  }
});

test('a query has the columns, the condition and the order of its table', () => {
  const turns = exportedTables.find(({ name }) => name === 'turns')!;
  expect(queryOf(turns, 7, 't.ordinal > 0').query).toBe(
    'select t.trajectory_id as attempt_id, t.ordinal as ordinal, t.action as action, t.bare_action as bare_action, ' +
      't.observation::text as observation, t.prompt_token_ids as prompt_token_ids, t.token_ids as token_ids, ' +
      't.logprobs as logprobs from trajectory_turns t where t.campaign_id = 7 and (t.ordinal > 0) ' +
      'order by t.trajectory_id, t.ordinal',
  );
});
