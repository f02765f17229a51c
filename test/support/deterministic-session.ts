import { createHash } from 'node:crypto';
import type { EnvironmentSession, Observation } from '../../src/envs/contract/environment';
import type { EpisodeJournal, ChooseAction } from '../../src/envs/episode/play-episode';
import type { ReplayChecks } from '../../src/envs/episode/replay-turns';
import type { RecordedTurn } from '../../src/domain/rollout/turn';

export const seen = (content: string, changes: Partial<Observation> = {}): Observation => ({
  messages: [{ role: 'tool', content }],
  done: false,
  reward: 0,
  score: null,
  rawScore: null,
  stopReason: null,
  ...changes,
});

export type World = {
  /** Number of actions until the episode is done. */
  length: number;
  /** Part of every observation: sessions with another order differ in texts but not in scores. */
  order?: string;
  /** Observations that replace the default ones, by the number of the action from 1. */
  otherwise?: Record<number, Observation>;
};

/** Returns a session whose observations are a function of the previous actions. */
export function worldSession({ length, order = '', otherwise = {} }: World): EnvironmentSession {
  const actions: string[] = [];
  return {
    reset: () => Promise.resolve(seen(`welcome ${order}`, { score: 0 })),
    step(action) {
      actions.push(action);
      const done = actions.length === length;
      const score = actions.length / length;
      const observation = seen(`${digest(actions)} ${order}`, { done, score, reward: done ? score : 0 });
      return Promise.resolve(otherwise[actions.length] ?? observation);
    },
    close: () => undefined,
  };
}

/** Returns a policy whose action and token ids are a function of the whole conversation, so that other prompts differ. */
export const attentivePolicy =
  (requestedSteps: number[] = []): ChooseAction =>
  (conversation, step) => {
    requestedSteps.push(step);
    const conversationDigest = digest([conversation, step]);
    const ids = [...Buffer.from(conversationDigest, 'hex').subarray(0, 4)];
    return Promise.resolve({
      content: `act ${conversationDigest}`,
      finishReason: 'stop',
      promptTokenIds: [...ids, step],
      tokenIds: ids.toReversed(),
      logprobs: ids.map((id) => -id / 256),
    });
  };

/** Returns a journal in memory. */
export function memoryJournal(checks: ReplayChecks, recorded: readonly RecordedTurn[] = []) {
  const turns = [...recorded];
  const replayed: number[] = [];
  const journal: EpisodeJournal = {
    checks,
    turns,
    replayed: (count) => Promise.resolve(void replayed.push(count)),
    record: (turn) => Promise.resolve(void turns.push(turn)),
  };
  return { ...journal, turns, counts: replayed };
}

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
