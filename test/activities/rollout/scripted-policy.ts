import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { ChatMessage } from '../../../src/domain/rollout/turn';

/** One request for an action; `step` counts the actions before it. */
export type Asked = { step: number; seed: number };

/** What is done before an answer is given; after `hang-up` none is. */
export type BeforeAnswer = (asked: Asked) => Promise<'hang-up' | void>;

export type ScriptedPolicy = {
  url: string;
  asked: Asked[];
  /** Acts so from now on, and forgets what it was asked. */
  act(actions: readonly string[], before?: BeforeAnswer): void;
  stop(): void;
};

/** A policy server in vLLM's dialect that writes actions in order; its ids are a function of the prompt and the seed. */
export async function startScriptedPolicy(): Promise<ScriptedPolicy> {
  const asked: Asked[] = [];
  let script: { actions: readonly string[]; before: BeforeAnswer } = { actions: [], before: () => Promise.resolve() };
  const server = createServer((request, response) => {
    void json(request).then(async (body) => {
      const { messages, seed, model } = body as { messages: ChatMessage[]; seed: number; model: string };
      const step = messages.filter(({ role }) => role === 'assistant').length;
      asked.push({ step, seed });
      if ((await script.before({ step, seed })) === 'hang-up') return response.destroy();
      const ids = [
        ...createHash('sha256')
          .update(JSON.stringify([messages, seed]))
          .digest(),
      ];
      const logprobs = { content: ids.slice(0, 5).map((id) => ({ logprob: -id / 7 })) };
      const message = { role: 'assistant', content: script.actions[step] ?? 'submit' };
      const choice = { index: 0, message, finish_reason: 'stop', token_ids: ids.slice(0, 5), logprobs };
      const answer = { id: 'c', object: 'chat.completion', model, prompt_token_ids: ids, choices: [choice] };
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    act(actions, before = () => Promise.resolve()) {
      asked.length = 0;
      script = { actions, before };
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
