import { DomainError } from '../../domain/base/errors';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { Store } from '../../store';

/**
 * How many tasks the matched campaign admitted in the same iteration: a control that admits as many differs in what the
 * tasks are, not in how many there are. null: the campaign is matched with none.
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
  const validated = phases.some((one) => one.iteration === iteration && one.phase === 'validate' && one.finishedAt);
  if (!validated)
    throw new DomainError(
      'MatchTooEarly',
      `synthesis.match: ${match} has not validated iteration ${iteration} yet; once it has, \`coevolve resume ${name}\``,
    );
  const made = await tasks.list(id, { createdIteration: iteration, verdict: 'admitted' });
  return made.filter(({ origin }) => origin !== 'seed').length;
}
