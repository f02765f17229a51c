import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import type { EnvironmentData } from '../../envs/server/environment-data';
import { EnvironmentError } from '../../envs/base/environment-error';
import type { EpisodeJournal } from '../../envs/episode/play-episode';
import type { ReplayChecks, ReplayMismatch } from '../../envs/episode/replay-turns';
import type { TurnJournalStore, OpenAttempt } from '../../store/trajectories/turn-journal';
import type { RecordedTurn } from '../../domain/rollout/turn';
import type { IterationKey } from '../../store/base/epoch';
import type { Dependencies } from '../base/dependencies';

/** The turns of one open attempt: those that an earlier player left, and those of this one. */
export type AttemptJournal = EpisodeJournal & {
  /** After a replay that went otherwise: the turns are of no use, and the attempt begins again. */
  restart(mismatch: ReplayMismatch): Promise<void>;
  /** Writes what is held back, because the episode broke off; it never throws: a journal saves work, no more. */
  keep(): Promise<void>;
};

/**
 * The journals of open attempts, by trajectory id; an attempt without one is played from its start. None is kept where a
 * replay promises nothing, of reference actions, which cost nothing to play again, and of attempts of a single action.
 * Explorations and calibrations need none either: the answers of an explorer are stored call by call, under keys that a
 * second try finds, and a calibration plays actions that are known.
 *
 * @param maxTurns actions of an attempt; null where the environment has a limit of its own
 * @throws EnvironmentError when the environment server is away
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
    replayable.map(({ task }, place) => {
      const id = ids[place]!;
      const open = { campaignId: key.campaignId, iteration: key.iteration, epoch: key.epoch, trajectoryId: id };
      const promise = checks.get(task.environment) as ReplayChecks;
      return [id, attemptJournal(store.turnJournal, open, promise, recorded.get(id) ?? [])];
    }),
  );
}

/** A server that does not tell what its environment can do promises nothing. */
async function checksOf(data: EnvironmentData, environment: string): Promise<ReplayChecks | 'none'> {
  try {
    return (await data.capabilities(environment)).replay;
  } catch (error) {
    if (error instanceof EnvironmentError && error.kind === 'rejected') return 'none';
    throw error;
  }
}

/** @param recorded turns of an earlier player, from the first on */
export function attemptJournal(
  store: TurnJournalStore,
  attempt: OpenAttempt,
  checks: ReplayChecks,
  recorded: readonly RecordedTurn[],
): AttemptJournal {
  const turns = [...recorded];
  let held: RecordedTurn | null = null;
  let alone = true; // until another writes turns of this attempt: two histories in one journal would be none

  const write = async (turn: RecordedTurn): Promise<void> => {
    alone = alone && (await store.record(attempt, turn));
  };
  return {
    checks,
    turns,
    replayed: (count) => store.recordResume(attempt, { outcome: 'resumed', turns: count, detail: null }),

    /**
     * Holds a turn back until the next one has not ended the episode either, and returns when the one before it is
     * durable: before turn n + 2 is asked for, turn n is. A crash so costs a turn more, of which there are few, and an
     * episode of two turns, of which there are many, costs no row: 4 instead of 2,404 in the rollout of the quickstart.
     */
    async record(turn) {
      const before = held;
      held = turn;
      turns.push(turn);
      if (before) await write(before);
    },

    async keep() {
      if (held) await write(held).catch(() => undefined);
      held = null;
    },

    async restart(mismatch) {
      await store.recordResume(attempt, { outcome: 'mismatch', turns: mismatch.turn, detail: mismatch.message });
      await store.clear(attempt);
      turns.length = 0;
      [held, alone] = [null, true];
    },
  };
}
