import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import type { OpenEnvironment } from '../../../src/envs/contract/environment';
import { createEnvironments } from '../../../src/envs/environments';
import type { ComposeRequest, EnvironmentData } from '../../../src/envs/server/environment-data';
import { policyClient } from '../../../src/llm/policy-client';
import { sha256 } from '../../../src/files/sha256';
import { hasOpenEnv, startThirdPartyServer, whyNot, type ThirdPartyServer } from '../../support/third-party-server';
import { addPolicy, hash } from '../../store/support/new-campaign';
import { inActivity } from '../context/in-activity';
import { startJudging, type JudgedCampaigns } from './judged-campaign';
import { startScriptedPolicy, type ScriptedPolicy } from './scripted-policy';

const real = hasOpenEnv ? test : test.skip;
if (!hasOpenEnv) process.stderr.write(`${whyNot}\n`);

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-third-party-'));
let judging: JudgedCampaigns;
let thirdParty: ThirdPartyServer;
let policy: ScriptedPolicy;
let open: OpenEnvironment;
let data: EnvironmentData;

beforeAll(async () => {
  if (!hasOpenEnv) return;
  [judging, thirdParty, policy] = await Promise.all([
    startJudging(),
    startThirdPartyServer('--sessions', '2'),
    startScriptedPolicy(),
  ]);
  const file = path.join(folder, 'environments.yaml');
  const { url } = thirdParty;
  const servers = {
    guess: { url, sessions: 4 }, // two more than the server allows
    counted: { url, taskField: 'hint', state: ['guesses_left'] },
    drifting: { url, state: ['episode_id'] }, // another one in each session
    misnamed: { url, state: ['guesses'] },
  };
  writeFileSync(file, JSON.stringify({ servers }));
  const environment = { url: 'http://127.0.0.1:9' }; // never called
  ({ open, data } = createEnvironments({ environment, environmentsFile: file }));
  const policies = policyClient({ url: policy.url });
  Object.assign(judging.services, { openEnvironment: open, environmentData: data, policies });
});
afterAll(async () => {
  policy?.stop();
  await Promise.all([judging?.stop(), thirdParty?.kill()]);
  rmSync(folder, { recursive: true, force: true });
});

real('a campaign plays the tasks of a server that uses the official package', async () => {
  const environment = { name: 'guess', trainTasks: 20, heldOutTasks: 20, maxTurns: 4 };
  const changes = {
    environment,
    recipe: 'eto',
    llm: null,
    start: 'base',
    policy: { source: 'imported', model: 'any' },
  };
  const { key, name } = await judging.start(changes as Parameters<typeof judging.start>[0]);
  const { services, pool } = judging;
  const { store } = services;
  const tasks = await store.tasks.list(key.campaignId, { split: 'train' });
  expect(tasks).toHaveLength(20);
  expect(tasks.flatMap(({ referenceActions }) => referenceActions)).toEqual([]);

  await store.tasks.plan(
    key,
    'train',
    tasks.map(({ id }) => id),
  );
  const policyId = await addPolicy({ store, pool, campaignId: key.campaignId, name, key }, { id: hash('c') });
  policy.setScript(['50', '2', 'seven', '7']); // with the secrets of train tasks 0 and 1, and an invalid guess
  const input = { ...key, purpose: 'train' as const, policyId, step: 0, from: 0, to: 20 };
  await expect(inActivity(() => collectRollouts(services)(input))).resolves.toEqual({ attempts: 80, reused: 0 });

  const { rows } = await pool.query<{ outcome: string; reward: number; turns: number; count: number }>(
    `select outcome, reward, turn_count as turns, count(*)::int from trajectories
     where campaign_id = $1 group by 1, 2, 3 order by 2 desc, 3`,
    [key.campaignId],
  );
  expect(rows).toEqual([
    { outcome: 'scored', reward: 1, turns: 2, count: 4 },
    { outcome: 'scored', reward: 1, turns: 4, count: 4 },
    { outcome: 'scored', reward: 0, turns: 4, count: 72 },
  ]);
});

describe('a task composed in the world of another task', () => {
  const parent = { reset: { split: 'train', index: 1 } }; // its secret is 7
  const query = 'Guess twice without finding the number.';
  const compose = (name: string, changes: Partial<ComposeRequest> = {}) =>
    data.compose(name, { parent, query, actions: ['50', '40'], options: {}, ...changes });
  const composedIn = async (name: string, changes?: Partial<ComposeRequest>) => {
    const composed = await compose(name, changes);
    if ('refused' in composed) throw new Error(composed.refused.detail);
    return composed.task;
  };

  async function play(name: string, task: Record<string, unknown>, actions: readonly string[]) {
    const session = await open(name, { signal: AbortSignal.timeout(30_000) });
    try {
      const { messages } = await session.reset({ task, seed: 5, episodeId: 'e' });
      const shown = messages.map(({ content }) => content).join('\n');
      for (const action of actions) {
        const { messages: last, done, reward, rawScore, stopReason } = await session.step(action);
        if (done) return { shown, last: last.at(-1)!.content, reward, rawScore, stopReason };
      }
      return { shown, reward: null };
    } finally {
      session.close();
    }
  }

  real('is graded by the judge, and the reward of the server never counts', async () => {
    const { grader, definition, reference_actions: reference, goal } = await composedIn('guess', { form: 'react' });
    expect({ grader, goal, reference }).toEqual({
      grader: 'judge',
      goal: query,
      reference: ['Action: 50', 'Action: 40', 'Action: finish[]'],
    });
    const ended = { reward: 0, rawScore: null };
    expect(await play('guess', definition, reference)).toMatchObject({ ...ended, stopReason: 'completed' });
    const solved = await play('guess', definition, ['7']); // the server rewards it with 1
    expect(solved).toMatchObject({ ...ended, shown: expect.stringContaining(query) });
    expect(solved.shown).toMatch(
      /^hint: I think of a number.*\nguesses_left: 8\n\nYour task is now the following one. It replaces/,
    );
    expect(await play('guess', parent, ['7'])).toMatchObject({ reward: 1 });
  });

  real('is checked by the values that its actions change, if the settings name them', async () => {
    const { grader, definition, reference_actions: reference } = await composedIn('counted');
    expect(grader).toBe('environment');
    expect(definition).toMatchObject({
      composed: { endState: null, goal: { facts: [['guesses_left', '6']], answer: null } },
    });
    const { shown, last, reward } = await play('counted', definition, reference);
    expect(reward).toBe(1);
    expect(last).toBe('The actions have changed in the world:\n- guesses_left: 8 -> 6');
    expect(shown).toContain(query);
    expect(shown).not.toContain('number from 1 to 100');
    expect(await play('counted', definition, ['1', 'two', '2', 'Thought: done.\nAction: finish[both]'])).toMatchObject({
      reward: 1,
    });
    expect(await play('counted', definition, ['50', 'finish[]'])).toMatchObject({ reward: 0 });
    expect(await play('counted', definition, ['7'])).toMatchObject({ reward: 0, rawScore: null });
  });

  real('of version 0.1 is checked by the hash of the state', async () => {
    const { definition } = await composedIn('counted');
    const old = { ...definition, composed: { query, endState: sha256('[6]') } };
    expect(await play('counted', old, ['50', '40', 'finish[]'])).toMatchObject({ reward: 1 });
    expect(await play('counted', old, ['50', 'finish[]'])).toMatchObject({ reward: 0 });
  });

  real('that asks a question is checked by its answer alone', async () => {
    const {
      grader,
      definition,
      reference_actions: reference,
    } = await composedIn('counted', {
      query: 'Is the number below 50?',
      actions: ['50', 'finish[Yes]'],
    });
    expect({ grader, reference }).toEqual({ grader: 'environment', reference: ['50', 'finish[Yes]'] });
    for (const [answer, reward] of [
      ['yes.', 1],
      ['no', 0],
      ['', 0],
    ] as const)
      expect(await play('counted', definition, ['60', `finish[${answer}]`])).toMatchObject({ reward });
  });

  real('can be composed in the world of a composed task, whose query is dropped', async () => {
    const { definition } = await composedIn('counted');
    const again = await composedIn('counted', {
      parent: definition,
      query: 'Guess once.',
      actions: ['50', 'finish[done]'],
    });
    expect(again).toMatchObject({ grader: 'environment', goal: 'Guess once.', reference_actions: ['50', 'finish[]'] });
    expect(again.definition['reset']).toEqual(definition['reset']);
  });

  real.each([
    ['no actions', 'guess', { actions: ['finish[]'] }, 'bad-format'],
    ['too many actions', 'guess', { actions: Array<string>(30).fill('1') }, 'bad-format'],
    ['an end before the last action', 'guess', { actions: ['7', '50'] }, 'not-executable'],
    ['an action that the server rejects', 'guess', { actions: ['50', 'two'] }, 'no-effect'],
    ['a question without an answer', 'guess', { query: 'Is it 50?' }, 'no-answer'],
    ['an answer to no question', 'counted', { actions: ['50', 'finish[a]'] }, 'no-answer'],
    ['a change that a second session does not repeat', 'drifting', {}, 'no-goal'],
  ])('is refused for %s', async (_, name, changes, reason) => {
    expect(await compose(name, changes)).toMatchObject({ refused: { reason } });
  });

  real('is refused with the fields of the state if the settings name another', async () => {
    await expect(compose('misnamed')).rejects.toThrow(
      /^servers.misnamed.state: found "guesses", expected one of .*guesses_left/,
    );
  });
});
