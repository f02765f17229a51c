import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';

export type PlayRecord = {
  /** Of each attempt that has begun: the times of `performance.now()`. An attempt that was killed has no end. */
  sessions: { task: number; beganAt: number; endedAt?: number }[];
  /** To the policy. */
  requests: number;
};

export type SleepingServers = {
  environmentUrl: string;
  policyUrl: string;
  /** Sets the seconds of an action in the attempt at each task, by the task's number. */
  setLengths(seconds: readonly number[]): void;
  /** Returns a record of the attempts from now on, until the next record. */
  record(): PlayRecord;
  close(): void;
};

/**
 * Starts an OpenEnv server of tasks with `turns` actions, and a policy server that answers after the seconds of the
 * prompt's task. Neither computes anything, so the bench measures the service.
 */
export async function startSleepingServers(turns: number): Promise<SleepingServers> {
  let lengths: readonly number[] = [];
  let record: PlayRecord = { sessions: [], requests: 0 };
  const environment = createServer((request, response) => {
    const isSchema = request.url === '/schema';
    const body = isSchema ? { action: { properties: { text: { type: 'string' } } } } : { environments: {} };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const sockets = new WebSocketServer({ server: environment });
  sockets.on('connection', (socket) => {
    let left = turns;
    const session: PlayRecord['sessions'][number] = { task: -1, beganAt: Infinity };
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { type: string; data?: { seed?: number } };
      if (message.type === 'step') left--;
      const task = message.data?.seed ?? 0;
      if (message.type === 'reset') record.sessions.push(Object.assign(session, { task, beganAt: performance.now() }));
      if (left === 0) session.endedAt ??= performance.now();
      const text = message.type === 'reset' ? `task ${task}` : 'go on';
      const done = left === 0;
      const observed = { observation: { text }, reward: done ? 1 : 0, done };
      socket.send(JSON.stringify({ type: 'observation', data: observed }));
    });
  });
  const policy = createServer((request, response) => {
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
    record.requests++;
    void json(request).then(async (body) => {
      const { messages, model } = body as { messages: { content: string }[]; model: string };
      const task = messages.map(({ content }) => /task (\d+)/.exec(content)).find((match) => match);
      await sleep(1000 * (lengths[Number(task?.[1])] ?? 0));
      const choice = {
        index: 0,
        message: { role: 'assistant', content: 'act' },
        finish_reason: 'stop',
        token_ids: [1],
        logprobs: { content: [{ logprob: -0.5 }] },
      };
      const answer = { id: 'c', object: 'chat.completion', model, prompt_token_ids: [1, 2, 3], choices: [choice] };
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  return {
    environmentUrl: await listen(environment),
    policyUrl: await listen(policy),
    record: () => (record = { sessions: [], requests: 0 }),
    setLengths: (seconds) => void (lengths = seconds),
    close() {
      sockets.close();
      for (const server of [environment, policy]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
