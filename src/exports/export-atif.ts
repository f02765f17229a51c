import type { Pool } from 'pg';
import { DomainError } from '../domain/errors';
import { replaceFile } from '../files/replace-file';
import type { WrittenLines } from '../files/write-lines';
import type { Store } from '../store';
import { transaction, withClient } from '../store/database/pool';
import { wholeAttempts } from '../store/trajectories/whole-attempts';
import { atifTrajectory } from './atif';

export type AtifRequest = {
  campaign: string;
  /** Is null for all iterations. */
  iteration: number | null;
  /** Path of the file, which is replaced if it exists. */
  output: string;
  /** Version of this program. */
  version: string;
};

/**
 * Writes the attempts of a campaign as JSON lines, each a trajectory of the Agent Trajectory Interchange Format. The rows are
 * of one moment and in a fixed order; the file appears only when it is complete.
 *
 * @throws DomainError `UnknownCampaign`; `NothingToExport`, with the next command
 */
export async function exportAtif(store: Store, pool: Pool, request: AtifRequest): Promise<AtifRequest & WrittenLines> {
  const { id, name, recipe, environment } = await store.campaigns.getByName(request.campaign);
  const source = { campaign: name, recipe, environment, version: request.version };
  const written = await withClient(pool, (client) =>
    transaction(client, async () => {
      await client.query('set transaction isolation level repeatable read, read only');
      const attempts = wholeAttempts(client, { campaignId: id, iteration: request.iteration });
      return replaceFile(request.output, linesOf(attempts), () => nothingPlayed(request));
    }),
  );
  return { ...request, ...written };

  async function* linesOf(attempts: ReturnType<typeof wholeAttempts>): AsyncGenerator<string> {
    for await (const attempt of attempts) {
      const trajectory = atifTrajectory(attempt, source);
      if (trajectory) yield JSON.stringify(trajectory);
    }
  }
}

function nothingPlayed({ campaign, iteration }: AtifRequest): DomainError {
  const scope = iteration === null ? '' : ` in iteration ${iteration}`;
  return new DomainError(
    'NothingToExport',
    `no attempt of "${campaign}" has a message${scope}; \`coevolve attempts ${campaign}\` lists the attempts`,
  );
}
