import { DomainError } from '../../domain/base/errors';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { Store } from '../../store';

/**
 * Returns the number of tasks that the matched campaign admitted in the same iteration; null without a matched campaign.
 * A control with the same number differs only in the content of its tasks.
 *
 * @throws DomainError `MatchTooEarly`, `UnknownCampaign`
 */
export async function matchedAdmissions(
  { campaigns, iterations, tasks }: Store,
  { synthesis: { match } }: CampaignSpec,
  name: string,
  iteration: number,
): Promise<number | null> {
  if (match === null) return null;
  const { id } = await campaigns.getByName(match);
  const phases = await iterations.listPhases(id);
  const validated = phases.some((row) => row.iteration === iteration && row.phase === 'validate' && row.finishedAt);
  if (!validated)
    throw new DomainError(
      'MatchTooEarly',
      `synthesis.match: ${match} has not validated iteration ${iteration} yet; once it has, \`coevolve resume ${name}\``,
    );
  const made = await tasks.list(id, { createdIteration: iteration, verdict: 'admitted' });
  return made.filter(({ origin }) => origin !== 'seed').length;
}
