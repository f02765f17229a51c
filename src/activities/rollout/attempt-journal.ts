import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import type { EnvironmentData } from '../../envs/server/environment-data';
import { EnvironmentError } from '../../envs/contract/environment-error';
import type { EpisodeJournal } from '../../envs/episode/play-episode';
import type { ReplayChecks, ReplayMismatch } from '../../envs/episode/replay-turns';
import type { TurnJournalStore, OpenAttempt } from '../../store/trajectories/turn-journal';
import type { RecordedTurn } from '../../domain/rollout/turn';
import type { IterationKey } from '../../store/database/epoch';
import type { Dependencies } from '../context/dependencies';

/** Turns of one open attempt: the turns of earlier activities and of this one. */
export type AttemptJournal = EpisodeJournal & {
  /** Discards the turns after a failed replay: the attempt restarts. */
  restart(mismatch: ReplayMismatch): Promise<void>;
  /** Writes the buffered turn after an interrupted episode. Never throws, because the journal only saves work. */
  keep(): Promise<void>;
};

/**
 * Opens the journals of open attempts, by trajectory id. An attempt without a journal is played from its start: attempts
 * in environments without replay, attempts of a single action, and reference actions, which are cheap to repeat.
 * Explorations and calibrations need no journal: an exploration's model calls are stored under keys that a retry finds,
 * and the actions of a calibration are stored.
 *
 * @param maxTurns max actions of an attempt; null if the environment sets the limit
 * @throws EnvironmentError when the environment server is unavailable
 */
export async function openJournals(
  { store, environmentData }: Dependencies,
  key: IterationKey,
  attempts: readonly { task: { environment: string }; attempt: AttemptKey }[],
  maxTurns: number | null,
): Promise<Map<string, AttemptJournal>> {
  const sampled = maxTurns === 1 ? [] : attempts.filter(({ attempt }) => attempt.policyId !== null);
  const environments = [...new Set(sampled.map(({ task }) => task.environment))];
  const checks = new Map<string, ReplayChecks | 'none'>();
  for (const environment of environments) checks.set(environment, await checksOf(environmentData, environment));

  const replayable = sampled.filter(({ task }) => checks.get(task.environment) !== 'none');
  if (replayable.length === 0) return new Map();
  const ids = replayable.map(({ attempt }) => trajectoryId(attempt));
  const recorded = await store.turnJournal.list(key, ids);
  return new Map(
    replayable.map(({ task }, i) => {
      const id = ids[i]!;
      const open = { campaignId: key.campaignId, iteration: key.iteration, epoch: key.epoch, trajectoryId: id };
      const replayChecks = checks.get(task.environment) as ReplayChecks;
      return [id, attemptJournal(store.turnJournal, open, replayChecks, recorded.get(id) ?? [])];
    }),
  );
}

/** A server without a route for capabilities supports no replay. */
async function checksOf(data: EnvironmentData, environment: string): Promise<ReplayChecks | 'none'> {
  try {
    return (await data.capabilities(environment)).replay;
  } catch (error) {
    if (error instanceof EnvironmentError && error.kind === 'rejected') return 'none';
    throw error;
  }
}

/** @param recorded turns of earlier activities, from the first turn */
export function attemptJournal(
  store: TurnJournalStore,
  attempt: OpenAttempt,
  checks: ReplayChecks,
  recorded: readonly RecordedTurn[],
): AttemptJournal {
  const turns = [...recorded];
  let buffered: RecordedTurn | null = null;
  let isOnlyWriter = true; // false once another worker wrote turns of this attempt: a journal holds one history

  const write = async (turn: RecordedTurn): Promise<void> => {
    isOnlyWriter = isOnlyWriter && (await store.record(attempt, turn));
  };
  return {
    checks,
    turns,
    replayed: (count) => store.recordResume(attempt, { outcome: 'resumed', turns: count, detail: null }),

    /**
     * Buffers a turn until the next one and writes the buffered turn before it returns: turn n is durable before turn
     * n + 2 is requested. A crash therefore costs one more turn, but an episode of two turns writes no row: 4 rows instead
     * of 2,404 in the rollout of the quickstart.
     */
    async record(turn) {
      const previous = buffered;
      buffered = turn;
      turns.push(turn);
      if (previous) await write(previous);
    },

    async keep() {
      if (buffered) await write(buffered).catch(() => undefined);
      buffered = null;
    },

    async restart(mismatch) {
      await store.recordResume(attempt, { outcome: 'mismatch', turns: mismatch.turn, detail: mismatch.message });
      await store.clear(attempt);
      turns.length = 0;
      [buffered, isOnlyWriter] = [null, true];
    },
  };
}
