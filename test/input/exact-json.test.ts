import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readTable } from '../../src/client/experiments/read-table';
import { jsonObject } from '../../src/cli/arguments/json-object';
import { readConversations } from '../../src/envs/experts/read-conversations';
import { actionParserOf } from '../../src/envs/third-party/parse-action';
import type { ThirdPartyServer } from '../../src/envs/third-party/read-servers';
import { jsonRows } from '../../src/input/json-rows';
import { parseYaml } from '../../src/input/parse-yaml';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-exact-'));
afterAll(() => rmSync(folder, { recursive: true }));

const expertOf = (turn: object): string =>
  JSON.stringify(readConversations(JSON.stringify([{ id: 'a', ...turn }]), 'auto').conversations[0]?.actions);

/** Each border that reads a JSON object of a person, a file or a policy: what arrives behind it, as text. */
const borders: Record<string, (json: string) => unknown> = {
  'an action of a policy': async (json) =>
    (await actionParserOf({ name: 'x', action: 'json' } as ThirdPartyServer))(json),
  '--options': jsonObject,
  'a row of a file': jsonRows,
  'a line of a table': (json) => {
    const file = path.join(folder, 'table.jsonl');
    writeFileSync(file, `${json}\n`);
    return readTable(file);
  },
  'a spec': parseYaml,
  'a function call of an expert': (json) =>
    expertOf({
      conversations: [
        { from: 'human', value: 'go' },
        { from: 'function_call', value: `{"name": "f", "arguments": ${json}}` },
      ],
    }),
  'arguments of a tool call': (json) =>
    expertOf({
      messages: [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: json } }] }],
    }),
};

const inputs = [
  { input: 'an integer above 2^53', json: '{"value": 9007199254740993}', kept: /9007199254740993/ },
  { input: 'a number above 1.8e308', json: '{"value": 1e999}', kept: /1e999/ },
  { input: 'a repeated key', json: '{"value": 1, "value": 2}', kept: /value.*1.*value.*2/ },
];

const cases = Object.entries(borders).flatMap(([border, read]) => inputs.map((one) => ({ border, read, ...one })));

test.each(cases)('$input in $border arrives as it was, or is refused by name', async ({ read, json, kept }) => {
  let found: string;
  try {
    found = JSON.stringify(await read(json));
  } catch (error) {
    found = (error as Error).message;
  }
  // a refusal quotes the number, or the key
  const isRefused =
    /found 9007199254740993|found 1e999|1\.8e308|value: found Infinity|value.*(second time|repeated|Duplicate)|Duplicate key 'value'/i;
  expect(found).toMatch(new RegExp(`${kept.source}|${isRefused.source}`, 'i'));
});

test('a table that an editor saved with a byte order mark is read', async () => {
  const file = path.join(folder, 'marked.jsonl');
  writeFileSync(file, '\uFEFF{"kind": "other"}\n');
  await expect(readTable(file)).rejects.toThrow(/:1: kind: found "other"/); // not: found nothing
});

test.each(['a\\u0000b', 'a\\ud800b'])('a table with the text %s is refused before anything is stored', async (text) => {
  const file = path.join(folder, 'strange.jsonl');
  writeFileSync(file, `{"kind": "${text}"}\n`);
  await expect(readTable(file)).rejects.toThrow(/:1: kind: found .*expected a text without NUL/);
});
