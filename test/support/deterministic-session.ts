import { createHash } from 'node:crypto';
import type { EnvironmentSession, Observation } from '../../src/envs/base/environment';
import type { EpisodeJournal, ChooseAction } from '../../src/envs/episode/play-episode';
import type { ReplayChecks } from '../../src/envs/episode/replay-turns';
import type { RecordedTurn } from '../../src/domain/rollout/turn';

export const seen = (content: string, changes: Partial<Observation> = {}): Observation => ({
  messages: [{ role: 'tool', content }],
  ...{ done: false, reward: 0, score: null, rawScore: null, stopReason: null },
  ...changes,
});

export type World = {
  /** Actions until it is done. */
  length: number;
  /** The order in which it lists things: sessions of another order differ in words and not in scores. */
  order?: string;
  /** What it says in place of the answer to an action, by the number of the action from 1. */
  otherwise?: Record<number, Observation>;
};

/** A session whose answers are a function of the actions before them. */
export function worldSession({ length, order = '', otherwise = {} }: World): EnvironmentSession {
  const actions: string[] = [];
  return {
    reset: () => Promise.resolve(seen(`welcome ${order}`, { score: 0, tools: [{ name: 'look', nothing: {} }] })),
    step(action) {
      actions.push(action);
      const done = actions.length === length;
      const score = actions.length / length;
      const answer = seen(`${digest(actions)} ${order}`, { done, score, reward: done ? score : 0 });
      return Promise.resolve(otherwise[actions.length] ?? answer);
    },
    close: () => undefined,
  };
}

/** A policy whose action and ids are a function of all that it has been shown, so that no other prompt passes for this. */
export const attentivePolicy =
  (asked: number[] = []): ChooseAction =>
  (conversation, step) => {
    asked.push(step);
    const read = digest([conversation, step]);
    const ids = [...Buffer.from(read, 'hex').subarray(0, 4)];
    return Promise.resolve({
      ...{ content: `act ${read}`, finishReason: 'stop' },
      ...{ promptTokenIds: [...ids, step], tokenIds: ids.toReversed(), logprobs: ids.map((id) => -id / 256) },
    });
  };

/** A journal in memory. */
export function memoryJournal(checks: ReplayChecks, recorded: readonly RecordedTurn[] = []) {
  const turns = [...recorded];
  const replayed: number[] = [];
  const journal: EpisodeJournal = {
    ...{ checks, turns },
    replayed: (count) => Promise.resolve(void replayed.push(count)),
    record: (turn) => Promise.resolve(void turns.push(turn)),
  };
  return { ...journal, turns, counts: replayed };
}

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
