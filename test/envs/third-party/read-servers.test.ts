import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readThirdPartyServers } from '../../../src/envs/third-party/read-servers';
import { messagesOf } from '../../../src/envs/third-party/observation';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-environments-file-'));
const file = path.join(folder, 'environments.yaml');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(yaml: string) {
  writeFileSync(file, yaml);
  return readThirdPartyServers({ environmentsFile: file });
}

test('without a file or without servers in the file, there are no servers', () => {
  expect(readThirdPartyServers({}).size).toBe(0);
  expect(read('').size).toBe(0);
  expect(read('hosted: { scienceworld: { pool: 2 } }').size).toBe(0);
});

test('a server has defaults for all settings except its URL', () => {
  writeFileSync(path.join(folder, 'token'), 'secret\n');
  const servers = read('servers: { counting: { url: "http://127.0.0.1:9000/envs/counting/", tokenFile: ./token } }');
  expect(servers.get('counting')).toMatchObject({
    endpoint: { url: 'http://127.0.0.1:9000/envs/counting', token: 'secret' },
    name: 'counting',
    tasks: 1000,
    heldOutTasks: 200,
    maxTurns: 30,
    replay: 'none',
    sessions: 8,
    reward: { min: 0, max: 1, of: 'last' },
  });
});

test.each([
  ['server: {}', 'server: found an unknown key, expected one of hosted, servers'],
  ['servers: { a: { address: x, url: "http://a" } }', 'servers.a.address: found an unknown key, expected one of url, '],
  ['servers: { a: {} }', 'servers.a.url: found nothing, expected a text'],
  ['servers: { a: 9000 }', 'servers.a: found 9000, expected keys with values: url, '],
  ['servers: { a: { url: "http://me:secret@a" } }', 'servers.a.url: found a URL with credentials'],
  ['servers: { a: { url: "http://a", tasks: 0 } }', 'servers.a.tasks: found 0, expected at least 1'],
  ['servers: { a: { url: "http://a", replay: all } }', 'servers.a.replay: found "all", expected one of observations, '],
  ['servers: { a: { url: "http://a", reward: { max: 0 } } }', 'servers.a.reward.max: found 0, expected a number above'],
  ['servers: { a: { url: "http://a", tokenFile: none } }', 'servers.a.tokenFile: found no readable file (ENOENT)'],
  ['servers: { A: { url: "http://a" } }', 'servers.A: found this name, expected lower-case letters'],
  ['hosted: { a: {} }\nservers: { a: { url: "http://a" } }', 'servers.a: found a name of the section hosted'],
  ['servers: { a: { url: "http://a", url: "http://b" } }', 'found url a second time, expected every key once'],
])('%s is rejected with the expected value', (yaml, problem) => {
  expect(() => read(yaml)).toThrow(
    expect.objectContaining({
      name: 'ConfigError',
      message: expect.stringMatching(/COEVOLVE_ENVIRONMENTS_FILE: .*is not a valid environments file/),
    }),
  );
  expect(() => read(yaml)).toThrow(problem);
});

test.each([
  [{ text: 'A door.' }, 'A door.'],
  [{ text: 'A door.', reward: 1, done: false, metadata: { a: 1 }, hint: null }, 'A door.'],
  [{ text: 'A door.', exits: ['north'], score: 3 }, 'text: A door.\nexits: ["north"]\nscore: 3'],
  [{ board: [[1]] }, 'board: [[1]]'],
  [{}, '(nothing to see)'],
])('the observation %j is converted to plain text', (observation, content) => {
  expect(messagesOf(observation)).toEqual([{ role: 'user', content }]);
});

test('messages are returned unchanged', () => {
  const messages = [{ role: 'tool', content: 'ok' }];
  expect(messagesOf({ messages, info: 3 })).toEqual(messages);
});
