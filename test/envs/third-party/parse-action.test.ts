import { actionParserOf } from '../../../src/envs/third-party/parse-action';
import type { ThirdPartyServer } from '../../../src/envs/third-party/read-servers';
import { startScriptedServer, type ScriptedServer } from '../../support/scripted-server';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.stop());

const text = { type: 'string' };
const count = { type: 'integer' };
const optional = { anyOf: [{ type: 'string' }, { type: 'null' }] };
const move = { $ref: '#/$defs/Move' };
const $defs = { Move: { enum: ['left', 'right'], type: 'string' }, Loop: { $ref: '#/$defs/Loop' } };

const parserOf = (properties: object) => {
  server.answerWith(() => ({ body: JSON.stringify({ action: { properties, $defs } }) }));
  return actionParserOf({ name: 'other', endpoint: { url: server.url } } as ThirdPartyServer);
};

test.each([
  [{ a: optional, b: count }, 'go'],
  [{ a: { type: ['string', 'null'] }, b: count }, 'go'],
  [{ a: move, b: count }, 'left'],
  [{ a: { const: 'go' }, b: count }, 'go'],
  [{ a: text, b: optional }, 'go'],
  [{ a: { anyOf: [text, count] } }, '12'],
])('of the fields %j, the text %s goes into `a`', async (properties, action) => {
  expect((await parserOf(properties))(action)).toEqual({ action: { a: action } });
});

test.each([
  [{ a: { anyOf: [count, { type: 'null' }] } }, ' 12', 12],
  [{ a: { type: 'array', items: text } }, '["x"]', ['x']],
  [{ a: { type: 'object' } }, 'I try:\n```json\n{"x": 1}\n```', { x: 1 }],
])('a lone field %j gets the value of the text %j', async (properties, action, value) => {
  expect((await parserOf(properties))(action)).toEqual({ action: { a: value } });
});

test.each([
  ['array', 'x'],
  ['array', '{"x": 1}'],
  ['object', '["x"]'],
])('a text that is no %s is no action: %s', async (type, action) => {
  expect((await parserOf({ a: { type } }))(action)).toEqual({ problem: `expected one JSON ${type}` });
});

test.each([
  [{ a: optional, b: move }, 'a (string), b (string)'],
  [{ a: { $ref: '#/$defs/Loop' }, b: { anyOf: [text, count] } }, 'a (any), b (any)'],
])('of the fields %j none is chosen', async (properties, found) => {
  await expect(parserOf(properties)).rejects.toMatchObject({
    code: 'AmbiguousAction',
    message: `servers.other.action: found nothing, expected one of ${found}, the fields of the server's actions, or json`,
  });
});
