import type { Health } from '../envs/server/health';
import { UsageError } from '../errors/errors';
import { promptCases, type PromptCase } from './cases';

type Wanted = { environment?: readonly string[] | undefined; case?: readonly string[] | undefined };

export type Playable = { cases: PromptCase[]; notPlayed: { environment: string; reason: string }[] };

/**
 * Returns the wanted cases whose environment is hosted, and the environments that are not, with the reason and the next
 * command. Without a wish all cases are wanted.
 *
 * @throws UsageError if an environment that the caller named is not hosted, or if no case is left
 */
export function playableCases({ environments, unavailable }: Health, wanted: Wanted): Playable {
  const isWanted = (name: string, among: readonly string[] | undefined): boolean => among?.includes(name) ?? true;
  const cases = promptCases.filter(
    ({ name, environment }) => isWanted(environment, wanted.environment) && isWanted(name, wanted.case),
  );
  const hosted = cases.filter(({ environment }) => environment in environments);
  const missing = [...new Set(cases.map(({ environment }) => environment))].filter((name) => !(name in environments));
  const notPlayed = missing.map((environment) => ({
    environment,
    reason:
      unavailable[environment] ?? 'the environment server does not host it; `coevolve env list` shows what it hosts',
  }));
  const named = notPlayed.filter(({ environment }) => wanted.environment?.includes(environment));
  const [first] = named.length > 0 || hosted.length === 0 ? [...named, ...notPlayed] : [];
  if (first) throw new UsageError(`found no environment ${first.environment} to play: ${first.reason}`);
  if (hosted.length === 0)
    throw new UsageError(
      `--case, --environment: found none of the cases in these environments, expected of ${promptCases.map(({ name, environment }) => `${name} (${environment})`).join(', ')}`,
    );
  return { cases: hosted, notPlayed };
}
