import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { ChatMessage } from '../../../src/domain/rollout/turn';

/** One request for an action; `turn` is the number of earlier actions. */
export type ActionRequest = { turn: number; seed: number };

/** Called before an answer; `hang-up` closes the connection without an answer. */
export type BeforeAnswer = (request: ActionRequest) => Promise<'hang-up' | void>;

export type ScriptedPolicy = {
  url: string;
  requests: ActionRequest[];
  /** Sets the actions of all further answers and clears `requests`. */
  setScript(actions: readonly string[], before?: BeforeAnswer): void;
  stop(): void;
};

/** Policy server with vLLM's API that answers with actions in order; its token ids depend on the prompt and the seed. */
export async function startScriptedPolicy(): Promise<ScriptedPolicy> {
  const requests: ActionRequest[] = [];
  let script: { actions: readonly string[]; before: BeforeAnswer } = { actions: [], before: () => Promise.resolve() };
  const server = createServer((request, response) => {
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
    void json(request).then(async (body) => {
      const { messages, seed, model } = body as { messages: ChatMessage[]; seed: number; model: string };
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      requests.push({ turn, seed });
      if ((await script.before({ turn, seed })) === 'hang-up') return response.destroy();
      const ids = [
        ...createHash('sha256')
          .update(JSON.stringify([messages, seed]))
          .digest(),
      ];
      const logprobs = { content: ids.slice(0, 5).map((id) => ({ logprob: -id / 7 })) };
      const message = { role: 'assistant', content: script.actions[turn] ?? 'submit' };
      const choice = { index: 0, message, finish_reason: 'stop', token_ids: ids.slice(0, 5), logprobs };
      const answer = { id: 'c', object: 'chat.completion', model, prompt_token_ids: ids, choices: [choice] };
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    setScript(actions, before = () => Promise.resolve()) {
      requests.length = 0;
      script = { actions, before };
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
