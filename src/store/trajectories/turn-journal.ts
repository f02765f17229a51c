import { separatedTurn, type RecordedTurn } from '../../domain/rollout/turn';
import type { Pool } from 'pg';
import type { IterationKey } from '../database/epoch';
import { toText } from '../database/postgres-text';

/** An attempt without a stored trajectory. */
export type OpenAttempt = IterationKey & { trajectoryId: string };

/** `turns`: count of replayed turns, or the number of the turn whose replay differed from the record. */
export type Resume =
  | { outcome: 'resumed'; turns: number; detail: null }
  | { outcome: 'mismatch'; turns: number; detail: string };

/**
 * Journal of open attempts. It only saves work: without it an attempt is played from the start. `trajectories.save`
 * deletes an attempt's turns in the statement that stores the trajectory.
 */
export const turnJournalStore = (pool: Pool) => ({
  /** Returns the turns of each open attempt among `ids`, from the first without gap; deletes turns of older epochs. */
  async list(key: IterationKey, ids: readonly string[]): Promise<Map<string, RecordedTurn[]>> {
    const { rows } = await pool.query<RecordedTurn & { trajectoryId: string }>(
      `with stale as (
         delete from turn_journal t using iterations i
         where t.campaign_id = $1::integer and t.trajectory_id = any ($2::text[]) and t.epoch < $3::integer
           and i.campaign_id = t.campaign_id and i.number = $4::smallint and i.epoch = $3::integer)
       select trajectory_id as "trajectoryId", ordinal, action, bare_action as "bareAction", shown, score, before_sha256 as "beforeSha256",
         after_sha256 as "afterSha256", prompt_token_ids as "promptTokenIds", token_ids as "tokenIds", logprobs,
         prompt_tokens as "promptTokens", completion_tokens as "completionTokens"
       from turn_journal
       where campaign_id = $1::integer and trajectory_id = any ($2::text[]) and epoch = $3::integer
       order by trajectory_id, ordinal`,
      [key.campaignId, ids, key.epoch, key.iteration],
    );
    const turns = new Map<string, RecordedTurn[]>();
    for (const { trajectoryId, ...turn } of rows) {
      const before = turns.get(trajectoryId) ?? [];
      if (follows(before, turn)) turns.set(trajectoryId, [...before, separatedTurn(turn)]);
    }
    return turns;
  },

  /**
   * Adds a turn. Returns false when the turn is already stored or a later run owns the iteration.
   *
   * The iteration is read without a lock, because every turn of every attempt would need it: a row that is stored while
   * the epoch is raised has the old epoch, and `list` ignores it.
   */
  async record({ campaignId, iteration, epoch, trajectoryId }: OpenAttempt, turn: RecordedTurn): Promise<boolean> {
    const { rowCount } = await pool.query(
      `insert into turn_journal (campaign_id, trajectory_id, ordinal, iteration, epoch, action, shown, score,
         before_sha256, after_sha256, prompt_token_ids, token_ids, logprobs, prompt_tokens, completion_tokens,
         bare_action)
       select $1::integer, $2, $3::smallint, $4::smallint, $5::integer, $6::json, $7::json, $8::float8, $9, $10,
         $11::integer[], $12::integer[], $13::real[], $14::integer, $15::integer, $16::json
       from iterations i
       where i.campaign_id = $1::integer and i.number = $4::smallint and i.epoch = $5::integer
       on conflict do nothing`,
      [
        campaignId,
        trajectoryId,
        turn.ordinal,
        iteration,
        epoch,
        JSON.stringify(turn.action),
        turn.shown && JSON.stringify(turn.shown),
        turn.score,
        turn.beforeSha256,
        turn.afterSha256,
        turn.promptTokenIds,
        turn.tokenIds,
        turn.logprobs,
        turn.promptTokens,
        turn.completionTokens,
        turn.bareAction === null ? null : JSON.stringify(turn.bareAction),
      ],
    );
    return rowCount === 1;
  },

  /** Deletes the turns of an attempt that restarts; with a stale epoch it deletes nothing. */
  async clear({ campaignId, iteration, trajectoryId, epoch }: OpenAttempt): Promise<void> {
    await pool.query(
      `delete from turn_journal t using iterations i
       where t.campaign_id = $1::integer and t.trajectory_id = $2
         and i.campaign_id = t.campaign_id and i.number = $4::smallint and i.epoch = $3::integer`,
      [campaignId, trajectoryId, epoch, iteration],
    );
  },

  /** Stores the result of resuming an interrupted attempt; with a stale epoch it stores nothing. */
  async recordResume({ campaignId, iteration, epoch, trajectoryId }: OpenAttempt, resume: Resume): Promise<void> {
    await pool.query(
      `insert into attempt_resumes (campaign_id, trajectory_id, iteration, outcome, turns, detail)
       select $1::integer, $2, $3::smallint, $5, $6::smallint, $7
       from iterations i
       where i.campaign_id = $1::integer and i.number = $3::smallint and i.epoch = $4::integer`,
      [campaignId, trajectoryId, iteration, epoch, resume.outcome, resume.turns, toText(resume.detail)],
    );
  },

  /** Lists the results of resuming an attempt, in order. */
  async listResumes(campaignId: number, trajectoryId: string): Promise<Resume[]> {
    const { rows } = await pool.query<Resume>(
      `select outcome, turns, detail from attempt_resumes
       where campaign_id = $1::integer and trajectory_id = $2
       order by id`,
      [campaignId, trajectoryId],
    );
    return rows;
  },
});

/** Returns whether a turn continues the turns before it: a row of another worker, or one after a gap, does not. */
const follows = (before: readonly RecordedTurn[], { ordinal, beforeSha256 }: RecordedTurn): boolean =>
  ordinal === before.length + 1 && (ordinal === 1 || before.at(-1)!.afterSha256 === beforeSha256);

export type TurnJournalStore = ReturnType<typeof turnJournalStore>;
