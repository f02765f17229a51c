import { trajectoryId, type AttemptKey } from '../domain/ids';
import type { EnvironmentData } from '../envs/environment-data';
import { EnvironmentError } from '../envs/environment-error';
import type { EpisodeJournal } from '../envs/play-episode';
import type { ReplayChecks, ReplayMismatch } from '../envs/replay-turns';
import type { AttemptTurnStore, OpenAttempt, RecordedTurn } from '../store/attempt-turns';
import type { IterationKey } from '../store/epoch';
import type { Services } from './services';

/** The turns of one open attempt: those that an earlier player left, and those of this one. */
export type AttemptJournal = EpisodeJournal & {
  /** After a replay that went otherwise: the turns are of no use, and the attempt begins again. */
  restart(mismatch: ReplayMismatch): Promise<void>;
  /** Resolves when no write is on its way; it never throws. */
  settled(): Promise<void>;
};

/**
 * The journals of open attempts, by trajectory id; an attempt without one is played from its start. None is kept where a
 * replay promises nothing, of reference actions, which cost nothing to play again, and of attempts of a single action.
 * Explorations and calibrations need none either: the answers of an explorer are stored call by call, under keys that a
 * second try finds, and a calibration plays actions that are known.
 *
 * @param maxSteps actions of an attempt; null where the environment has a limit of its own
 * @throws EnvironmentError when the environment server is away
 */
export async function openJournals(
  { store, environmentData }: Services,
  key: IterationKey,
  attempts: readonly { task: { environment: string }; attempt: AttemptKey }[],
  maxSteps: number | null,
): Promise<Map<string, AttemptJournal>> {
  const sampled = maxSteps === 1 ? [] : attempts.filter(({ attempt }) => attempt.policyId !== null);
  const environments = [...new Set(sampled.map(({ task }) => task.environment))];
  const checks = new Map<string, ReplayChecks | 'none'>();
  for (const environment of environments) checks.set(environment, await checksOf(environmentData, environment));

  const replayable = sampled.filter(({ task }) => checks.get(task.environment) !== 'none');
  if (replayable.length === 0) return new Map();
  const ids = replayable.map(({ attempt }) => trajectoryId(attempt));
  const recorded = await store.attemptTurns.list(key, ids);
  return new Map(
    replayable.map(({ task }, place) => {
      const id = ids[place]!;
      const open = { campaignId: key.campaignId, iteration: key.iteration, epoch: key.epoch, trajectoryId: id };
      const promise = checks.get(task.environment) as ReplayChecks;
      return [id, attemptJournal(store.attemptTurns, open, promise, recorded.get(id) ?? [])];
    }),
  );
}

/** A server that does not tell what its environment can do promises nothing. */
async function checksOf(data: EnvironmentData, environment: string): Promise<ReplayChecks | 'none'> {
  try {
    return (await data.capabilities(environment)).replay;
  } catch (error) {
    if (error instanceof EnvironmentError && error.kind === 'refused') return 'none';
    throw error;
  }
}

/** @param recorded turns of an earlier player, from the first on */
export function attemptJournal(
  store: AttemptTurnStore,
  attempt: OpenAttempt,
  checks: ReplayChecks,
  recorded: readonly RecordedTurn[],
): AttemptJournal {
  const turns = [...recorded];
  let alone = true; // until another writes turns of this attempt: two histories in one journal would be none
  let last = Promise.resolve();

  const write = async (turn: RecordedTurn): Promise<void> => {
    alone = alone && (await store.record(attempt, turn));
  };
  const settled = (): Promise<void> => last.catch(() => undefined);
  return {
    checks,
    turns,
    replayed: (count) => store.recordResume(attempt, { outcome: 'resumed', turns: count, detail: null }),

    /**
     * Begins to write a turn once the one before it is durable, and waits no longer than that: the write costs no time
     * beside the sampling of the next turn, and a crash never loses more than the newest turn, the one that is then
     * sampled again with the seed that it had.
     */
    async record(turn) {
      await last;
      turns.push(turn);
      last = write(turn);
      last.catch(() => undefined); // told to whoever waits for it next
    },

    async restart(mismatch) {
      await settled();
      await store.recordResume(attempt, { outcome: 'mismatch', turns: mismatch.turn, detail: mismatch.message });
      await store.clear(attempt);
      turns.length = 0;
      [alone, last] = [true, Promise.resolve()];
    },

    settled,
  };
}
