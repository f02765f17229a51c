import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { json } from 'node:stream/consumers';
import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import type { Tool } from '../../../src/domain/rollout/functions';
import type { CampaignSpecInput } from '../../../src/specification/campaign-spec';
import type { ChatMessage } from '../../../src/domain/rollout/turn';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { EnvironmentError } from '../../../src/envs/contract/environment-error';
import { policyClient } from '../../../src/llm/policy-client';
import { addPolicy, hash } from '../../store/support/new-campaign';
import { inActivity } from '../context/in-activity';
import { startJudging, type JudgedCampaigns } from './judged-campaign';

let judging: JudgedCampaigns;
beforeAll(async () => {
  judging = await startJudging();
});
afterAll(() => judging.stop());

type PolicyRequest = { path: string; max_tokens?: number; model?: string; lora_name?: string; lora_path?: string } & {
  messages?: ChatMessage[];
  tools?: Tool[];
};

/** Starts a policy server that loads policies; with `unloads`, it unloads a policy after the first request. */
async function policyServer({
  unloads,
  answer: write,
}: {
  unloads: boolean;
  answer?: (request: PolicyRequest) => object;
}) {
  const requests: PolicyRequest[] = [];
  const served = new Set<string>();
  const answer = (request: PolicyRequest): [number, object] => {
    const { path, max_tokens: budget, model = '', lora_name: name } = request;
    if (path === '/v1/load_lora_adapter') {
      served.add(name!);
      return [200, {}];
    }
    if (!served.has(model)) return [404, { error: { message: `no model ${model}`, code: 'model_not_found' } }];
    if (unloads) served.delete(model);
    const tokens = budget === 1 ? [5] : [5, 6];
    const logprobs = { content: tokens.map(() => ({ logprob: -0.5 })) };
    const choice = {
      message: write?.(request) ?? { content: 'submit' },
      finish_reason: 'stop',
      token_ids: tokens,
      logprobs,
    };
    return [200, { model, prompt_token_ids: [1], choices: [choice] }];
  };
  const server: Server = createServer((request, response) => {
    void json(request).then((body) => {
      const received = { path: request.url!, ...(body as object) };
      requests.push(received);
      const [status, reply] = answer(received);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url, requests, stop };
}

/** Plays two attempts at one task with a policy that the server at `url` has not loaded. */
async function play(
  url: string,
  rollouts: object = {},
  changes: Partial<CampaignSpecInput> = {},
  faults: Partial<Dependencies> = {},
) {
  const { key, name } = await judging.start({ ...changes, rollouts: { attempts: 2, ...rollouts } });
  const services: Dependencies = {
    ...judging.services,
    policies: policyClient({ url }),
    artifacts: artifactStore(tmpdir()),
    ...faults,
  };
  const [task] = await services.store.tasks.list(key.campaignId, { split: 'train', verdict: 'admitted' });
  await services.store.tasks.plan(key, 'train', [task!.id]);
  const made = { store: services.store, pool: judging.pool, campaignId: key.campaignId, name, key };
  const policyId = await addPolicy(made, { id: hash('c') });
  const range = { ...key, purpose: 'train' as const, policyId, step: 0, from: 0, to: 1 };
  return {
    policyId,
    campaignId: key.campaignId,
    result: await inActivity(() => collectRollouts(services)(range)).catch((error: unknown) => error),
  };
}

test('an unknown policy is loaded from the artifact store, once for all attempts', async () => {
  const server = await policyServer({ unloads: false });
  const { policyId, result } = await play(server.url);
  server.stop();
  expect(result).toEqual({ attempts: 2, reused: 0 });
  const loads = server.requests.filter(({ path }) => path === '/v1/load_lora_adapter');
  expect(loads).toEqual([
    { path: '/v1/load_lora_adapter', lora_name: policyId, lora_path: artifactStore(tmpdir()).policyPath(policyId) },
  ]);
});

test('a server that unloads the policy after each load fails the activity, which is retried', async () => {
  const server = await policyServer({ unloads: true });
  const { result } = await play(server.url);
  server.stop();
  expect(result).toMatchObject({ type: 'ModelError.unavailable', nonRetryable: false });
});

test('an attempt without an answer ends after rollouts.maxMinutes, without a reward', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { campaignId } = await play(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`, { maxMinutes: 0.01 });
  silent.closeAllConnections();
  silent.close();
  const { rows } = await judging.pool.query<object>(
    'select distinct outcome, reward, fault from trajectories where campaign_id = $1::integer',
    [campaignId],
  );
  expect(rows).toEqual([
    { outcome: 'time-limit', reward: null, fault: 'no end within 0.01 min (rollouts.maxMinutes)' },
  ]);
});

test('an attempt whose session breaks three times is an environment fault without a reward, and all three are stored', async () => {
  const server = await policyServer({ unloads: false });
  const seeds: number[] = [];
  const openEnvironment: Dependencies['openEnvironment'] = async (...args) => {
    const session = await judging.services.openEnvironment(...args);
    return {
      ...session,
      reset: (request) => {
        seeds.push(request.seed);
        return session.reset(request);
      },
      step: () => Promise.reject(new EnvironmentError('fault', 'the engine crashed')),
    };
  };
  const { campaignId } = await play(server.url, { attempts: 1 }, {}, { openEnvironment });
  server.stop();
  expect(seeds).toEqual([seeds[0], seeds[0], seeds[0]]);
  const { rows } = await judging.pool.query<object>(
    `select t.outcome, t.reward, t.fault, f.outcome as earlier from trajectories t
     join attempt_faults f on f.campaign_id = t.campaign_id and f.trajectory_id = t.id
     where t.campaign_id = $1::integer`,
    [campaignId],
  );
  const stored = {
    outcome: 'environment-fault',
    reward: null,
    fault: 'the engine crashed',
    earlier: 'environment-fault',
  };
  expect(rows).toEqual([stored, stored]);
});

test('an action that alone breaks its sessions scores 0, because the environment answers other actions', async () => {
  const answer = ({ messages = [] }: PolicyRequest): object => ({
    content: messages.some(({ role }) => role === 'assistant') ? 'exit' : 'SELECT 1',
  });
  const server = await policyServer({ unloads: false, answer });
  let sessions = 0;
  const openEnvironment: Dependencies['openEnvironment'] = async (...args) => {
    const session = await judging.services.openEnvironment(...args);
    sessions++;
    const crashed = (): Promise<never> => Promise.reject(new EnvironmentError('fault', 'the engine crashed'));
    return { ...session, step: (action) => (action === 'exit' ? crashed() : session.step(action)) };
  };
  const { campaignId } = await play(server.url, { attempts: 1 }, {}, { openEnvironment });
  server.stop();
  const { rows } = await judging.pool.query<object>(
    `select outcome, reward, stop_reason, turn_count, fault from trajectories where campaign_id = $1::integer`,
    [campaignId],
  );
  expect(rows).toEqual([{ outcome: 'scored', reward: 0, stop_reason: 'world-ended', turn_count: 2, fault: null }]);
  expect(sessions).toBe(4); // the last one does not play the action again
});

test('an attempt whose first prompt exceeds the context is unplayable, and has no reward', async () => {
  const full = createServer((request, response) => {
    const error = { message: "This model's maximum context length is 8 tokens", code: 'context_length_exceeded' };
    const [status, body] = request.url === '/v1/load_lora_adapter' ? [200, {}] : [400, { error }];
    request
      .resume()
      .on('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)));
  }).listen(0, '127.0.0.1');
  await once(full, 'listening');
  const { campaignId } = await play(`http://127.0.0.1:${(full.address() as AddressInfo).port}`, { attempts: 1 });
  full.closeAllConnections();
  full.close();
  const { rows } = await judging.pool.query<object>(
    'select outcome, reward, stop_reason, turn_count from trajectories where campaign_id = $1::integer',
    [campaignId],
  );
  expect(rows).toEqual([{ outcome: 'unplayable', reward: null, stop_reason: 'token-limit', turn_count: 0 }]);
});

test('the minutes of an attempt do not run while it waits for a free session', async () => {
  const server = await policyServer({ unloads: false });
  let minutes: AbortSignal | undefined; // of the first request; its own signal is not kept, and may then never be aborted
  const openEnvironment: Dependencies['openEnvironment'] = (name, options) => {
    minutes ??= AbortSignal.timeout(3_000);
    if (!minutes.aborted) return Promise.reject(new EnvironmentError('capacity', 'no session is free'));
    return judging.services.openEnvironment(name, options);
  };
  const { campaignId } = await play(server.url, { attempts: 1, maxMinutes: 0.05 }, {}, { openEnvironment });
  server.stop();
  const { rows } = await judging.pool.query<object>(
    'select outcome from trajectories where campaign_id = $1::integer',
    [campaignId],
  );
  expect(rows).toEqual([{ outcome: 'scored' }]);
});

test.each(['keep', 'drop'])(
  'with rollouts.thinking %s a trajectory has the thinking of every action',
  async (thinking) => {
    const action = '<think>How many?</think>\n\nSELECT 1';
    const server = await policyServer({ unloads: false, answer: () => ({ content: action }) });
    const { campaignId } = await play(server.url, { attempts: 1, thinking });
    server.stop();
    const { rows } = await judging.pool.query<{ action: string }>(
      'select t.action from trajectory_turns t where t.campaign_id = $1::integer',
      [campaignId],
    );
    expect(new Set(rows.map((row) => row.action))).toEqual(new Set([action]));
    const read = server.requests.flatMap(({ messages }) => messages ?? []).filter(({ role }) => role === 'assistant');
    expect(read.length).toBeGreaterThan(0);
    expect(new Set(read.map(({ content }) => content))).toEqual(new Set([thinking === 'drop' ? 'SELECT 1' : action]));
  },
);

type Call = { name: string; parameters?: { required?: string[] } };

/** A function without required arguments that stands in `tools` alone. */
function freeFunction({ messages, tools }: PolicyRequest): string {
  const free = (tools ?? [])
    .map((tool) => tool.function as Call)
    .find(({ parameters }) => !parameters?.required?.length);
  expect(JSON.stringify(messages)).not.toContain('"parameters"');
  return free!.name;
}

const asJson = (name: string): string => JSON.stringify({ name, arguments: {} });

test.each<[string, (name: string) => object]>([
  ['a Python list', (name) => ({ content: `[${name}()]` })],
  [
    'thinking and the tag of Qwen',
    (name) => ({ content: `<think>${name}?</think><tool_call>${asJson(name)}</tool_call>` }),
  ],
  ['JSON in a code fence', (name) => ({ content: `I call it:\n\`\`\`json\n${asJson(name)}\n\`\`\`` })],
  ["Llama's tag", (name) => ({ content: `<|python_tag|>${JSON.stringify({ name, parameters: {} })}` })],
  [
    'calls that the server separates',
    (name) => ({ content: null, tool_calls: [{ function: { name, arguments: '{}' } }] }),
  ],
])('a policy that has functions only in `tools` calls one by %s', async (_, spell) => {
  const server = await policyServer({
    unloads: false,
    answer: (request) => (request.max_tokens === 1 ? { content: '' } : spell(freeFunction(request))),
  });
  const environment = { name: 'bfcl', options: { categories: ['base'] }, trainTasks: 1, heldOutTasks: 1, maxTurns: 1 };
  const policy = { source: 'imported', model: 'any', functions: 'template' } as const;
  const { campaignId, result } = await play(server.url, { attempts: 1 }, { environment, policy });
  server.stop();
  expect(result).toEqual({ attempts: 1, reused: 0 });
  const { rows } = await judging.pool.query<{ observation: ChatMessage[] }>(
    'select t.observation from trajectory_turns t where t.campaign_id = $1::integer',
    [campaignId],
  );
  expect(rows).toEqual([{ observation: [{ role: 'tool', content: expect.not.stringContaining('rror') as string }] }]);
  expect(server.requests.at(-1)).toMatchObject({ tool_choice: 'none' });
});
