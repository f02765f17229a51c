import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createEnvironments, type Environments } from '../../src/envs/environments';
import type { TaskRecord, VariantRequest } from '../../src/envs/server/environment-data';
import { playEpisode, type ChooseAction } from '../../src/envs/episode/play-episode';
import { retryWhenUnavailable } from '../../src/envs/episode/retry-when-unavailable';
import { startEnvironmentServer, type EnvironmentServer } from '../support/environment-server';
import { hasOpenEnv, startThirdPartyServer, whyNot, type ThirdPartyServer } from '../support/third-party-server';

const { signal } = new AbortController();
const real = hasOpenEnv ? describe : describe.skip;
if (!hasOpenEnv) process.stderr.write(`${whyNot}\n`);

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-servers-'));
let ours: EnvironmentServer;
let listing: ThirdPartyServer;
let plain: ThirdPartyServer;
let environments: Environments;

beforeAll(async () => {
  if (!hasOpenEnv) return;
  [ours, listing, plain] = await Promise.all([
    startEnvironmentServer(),
    startThirdPartyServer(),
    startThirdPartyServer('--without-tasks', '--sessions', '1'),
  ]);
  const file = path.join(folder, 'environments.yaml');
  const servers = {
    guess: { url: `${listing.url}/`, instruction: 'Find the number.', maxTurns: 8 },
    seeds: { url: plain.url, tasks: 50, heldOutTasks: 20, reward: { min: -1, max: 1, of: 'sum' } },
    json: { url: listing.url, action: 'json' },
    short: { url: listing.url, maxTurns: 3 },
    wrong: { url: listing.url, action: 'message' },
    relay: { url: `${ours.url}/envs/intercode-sql`, tokenFile: './token' },
  };
  writeFileSync(path.join(folder, 'token'), ours.token);
  writeFileSync(file, JSON.stringify({ servers })); // JSON is YAML
  environments = createEnvironments({ environment: ours, environmentsFile: file });
});
afterAll(async () => {
  await Promise.all([ours?.kill(), listing?.kill(), plain?.kill()]);
  rmSync(folder, { recursive: true, force: true });
});

const draw = (name: string, split: 'train' | 'held-out', count: number): Promise<TaskRecord[]> =>
  environments.data.tasks(name, { split, count, seed: 7, options: {} });

async function play(name: string, task: TaskRecord, player: ChooseAction, maxTurns = 10) {
  return retryWhenUnavailable(signal, async () => {
    const session = await environments.open(name, { signal });
    try {
      return await playEpisode(session, { task: task.definition, seed: 3, episodeId: 'test' }, player, maxTurns);
    } finally {
      session.close();
    }
  });
}

/** Policy that halves the remaining range after each hint. */
const searcher =
  (write: (guess: number) => string = String): ChooseAction =>
  (conversation) => {
    let [low, high] = [1, 100];
    let guess = 50;
    for (const { role, content } of conversation) {
      if (role === 'assistant') guess = Number(/\d+/.exec(content)![0]);
      if (content.includes('larger')) low = guess + 1;
      if (content.includes('smaller')) high = guess - 1;
    }
    return Promise.resolve(write(Math.floor((low + high) / 2)));
  };

real('a server made with the official package', () => {
  test('lists the tasks of its splits, which can be played', async () => {
    const tasks = await draw('guess', 'train', 20);
    expect(tasks.map(({ task_id: id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => `train/train-${n}`));
    const first = await play('guess', tasks[3]!, (_, step) => Promise.resolve(step === 0 ? '100' : '17')); // secret_of
    expect(first).toMatchObject({ reward: 1, rawScore: 1, stopReason: 'completed' });
    expect(first.opening).toEqual([
      { role: 'system', content: 'Find the number.' },
      { role: 'user', content: 'hint: I think of a number from 1 to 100. Which is it?\nguesses_left: 8' },
    ]);
    expect(first.turns[0]!.observation).toEqual([
      { role: 'user', content: 'hint: The number is smaller.\nguesses_left: 7' },
    ]);
  });

  test('has held-out tasks from its test split without train tasks', async () => {
    const heldOut = await draw('guess', 'held-out', 20);
    const train = new Set((await draw('guess', 'train', 20)).map(({ content_key: key }) => key));
    expect(heldOut.map(({ definition }) => definition)).toContainEqual({
      reset: { split: 'test', index: 4, task_id: 'test-4' },
    });
    expect(heldOut.filter(({ content_key: key }) => train.has(key))).toEqual([]);
  });

  test('has seeds as tasks if it lists none, and equal seeds are equal tasks', async () => {
    const [train, again, heldOut] = await Promise.all([
      draw('seeds', 'train', 30),
      draw('seeds', 'train', 30),
      draw('seeds', 'held-out', 99),
    ]);
    expect(again).toEqual(train);
    expect([train.length, heldOut.length]).toEqual([30, 20]);
    expect(new Set([...train, ...heldOut].map(({ task_id: id }) => id)).size).toBe(50);
    const plays = [await play('seeds', train[0]!, searcher()), await play('seeds', train[0]!, searcher())];
    expect(plays[1]!.turns).toEqual(plays[0]!.turns);
    expect(plays[0]).toMatchObject({ reward: 1, rawScore: 1 });
  });

  test('scales the sum of rewards of an episode', async () => {
    const [task] = await draw('seeds', 'train', 1);
    const lost = await play('seeds', task!, () => Promise.resolve('101'));
    expect(lost).toMatchObject({ reward: 0.5, rawScore: 0 }); // 0 of -1 to 1
    expect(lost.turns).toHaveLength(8);
  });

  test('with one session plays attempts one at a time', async () => {
    const [task] = await draw('seeds', 'train', 1);
    const all = await Promise.all(Array.from({ length: 4 }, () => play('seeds', task!, searcher())));
    expect(all.map(({ reward }) => reward)).toEqual([1, 1, 1, 1]);
  });

  test('returns an observation for an invalid action and continues', async () => {
    const [task] = await draw('guess', 'train', 1);
    const actions = ['the number of the beast', '2'];
    const episode = await play('guess', task!, (_, step) => Promise.resolve(actions[step]!));
    expect(episode.turns[0]!.observation[0]!.content).toMatch(/^That is no action: VALIDATION_ERROR.*guess/);
    expect(episode.turns).toHaveLength(2);
  });

  test('ends an episode at the configured turn limit', async () => {
    const [task] = await draw('short', 'train', 1);
    const episode = await play('short', task!, () => Promise.resolve('100'));
    expect(episode).toMatchObject({ reward: 0, stopReason: 'turn-limit' });
    expect(episode.turns).toHaveLength(3);
  });

  test('accepts whole actions as JSON', async () => {
    const [task] = await draw('json', 'train', 1);
    const write = (n: number): string => JSON.stringify({ guess: n });
    await expect(play('json', task!, searcher(write))).resolves.toMatchObject({ reward: 1 });
    const fenced = (n: number): string => `I try this:\n\`\`\`json\n${write(n)}\n\`\`\``;
    await expect(play('json', task!, searcher(fenced))).resolves.toMatchObject({ reward: 1 });
    const tagged = (n: number): string => `<tool_call>\n${write(n)}\n</tool_call>`;
    await expect(play('json', task!, searcher(tagged))).resolves.toMatchObject({ reward: 1 });
    const unclosed = (n: number): string => `I try this:\n<tool_call>\n${write(n)}`;
    await expect(play('json', task!, searcher(unclosed))).resolves.toMatchObject({ reward: 1 });
    const talker = await play('json', task!, (_, turn) => Promise.resolve(['hello', fenced(1) + fenced(2)][turn]!), 2);
    for (const { observation } of talker.turns)
      expect(observation).toEqual([{ role: 'user', content: 'That is no action: expected one JSON object' }]);
  });

  test('is rejected before the first episode if its actions lack the configured field', async () => {
    await expect(environments.open('wrong', { signal })).rejects.toMatchObject({
      name: 'DomainError',
      code: 'AmbiguousAction',
      message:
        'servers.wrong.action: found "message", expected one of guess (integer), the fields of the server\'s actions, or json',
    });
  });

  test('has neither reference actions nor variants, and the error suggests other recipes', async () => {
    await expect(environments.data.capabilities('guess')).resolves.toMatchObject({
      variants: false,
      compose: 'judge',
      states: false,
      gold: false,
      replay: 'none',
      max_turns: 8,
    });
    const request: VariantRequest = { parents: [], relation: 'random', count: 1, seed: 1, options: {} };
    await expect(environments.data.variants('guess', request)).rejects.toThrow(/guess.*cannot generate variants.*grpo/);
  });

  test('is available together with our own environments', async () => {
    await expect(environments.data.names()).resolves.toEqual([
      'intercode-sql',
      'guess',
      'seeds',
      'json',
      'short',
      'wrong',
      'relay',
    ]);
    const [task] = await draw('intercode-sql', 'train', 1);
    const gold: ChooseAction = (_, step) => Promise.resolve(task!.reference_actions[step] ?? null);
    await expect(play('intercode-sql', task!, gold)).resolves.toMatchObject({ reward: 1 });
    await expect(environments.data.capacity('seeds')).resolves.toBe(8);
  });

  test('can be our own server, because it supports the same protocol', async () => {
    const [task] = await draw('relay', 'train', 1);
    const episode = await play('relay', task!, () => Promise.resolve('submit'));
    expect(episode).toMatchObject({ reward: 0, stopReason: 'completed' });
    expect(episode.opening.length).toBeGreaterThan(0);
  });
});
