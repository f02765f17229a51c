import { UsageError } from '../../errors/errors';
import { differencesOf } from '../../input/differences';
import { isSection } from '../../input/merge';
import { findStoredSpec } from '../../specification/read-spec';
import type { CampaignRow } from '../../store/campaign/campaigns';

/** A side of a comparison: campaigns of one method. */
export type Side = 'a' | 'b';

/** The spec of a campaign, with the defaults of later keys, without the name and the seed. */
export function methodOf({ spec }: Pick<CampaignRow, 'spec'>): Record<string, unknown> {
  const { name: _name, seed: _seed, ...method } = findStoredSpec(spec) ?? (isSection(spec) ? spec : {});
  return method;
}

/** Requires at least two campaigns a side, each of them once. */
export function requireEachOnce(a: readonly string[], b: readonly string[]): void {
  const sides = { a, b };
  for (const side of ['a', 'b'] as const)
    if (sides[side].length < 2)
      throw new UsageError(
        `--${side}: found ${sides[side].join(', ')}, expected at least two campaigns with different seeds; ` +
          `\`coevolve compare ${a[0]!} ${b[0]!}\` compares two checkpoints`,
      );
  const names = [...a, ...b];
  const twice = names.find((name, n) => names.indexOf(name) !== n);
  if (twice !== undefined)
    throw new UsageError(
      `--a and --b: found ${twice} twice, expected every campaign once, on one of both; see \`coevolve list\``,
    );
}

/** Requires that all campaigns of a side have finished, and differ in nothing but the name and the seed. */
export function requireOneMethod(side: Side, rows: readonly CampaignRow[]): void {
  const unfinished = rows.find(({ status }) => status !== 'finished');
  if (unfinished)
    throw new UsageError(
      `--${side}: found ${unfinished.name}, which is ${unfinished.status}, expected finished campaigns; ` +
        `see \`coevolve status ${unfinished.name}\``,
    );
  const [first, ...others] = rows as [CampaignRow, ...CampaignRow[]];
  for (const other of others) {
    const [difference] = differencesOf(methodOf(first), methodOf(other));
    if (difference)
      throw new UsageError(
        `--${side}: found ${difference.key} ${shown(difference.first)} in ${first.name} and ` +
          `${shown(difference.second)} in ${other.name}, expected specs that differ in name and seed alone; ` +
          `\`coevolve compare ${first.name} ${other.name}\` lists all keys`,
      );
  }
}

const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

type Seeded = Pick<CampaignRow, 'name' | 'seed'>;

/** Requires the same campaign seeds on both sides, each once. */
export function requireEqualSeeds(a: readonly Seeded[], b: readonly Seeded[]): void {
  for (const rows of [a, b])
    for (const one of rows) {
      const other = rows.find(({ name, seed }) => seed === one.seed && name !== one.name);
      if (other)
        throw new UsageError(
          `seeds: found ${one.seed} in ${one.name} and in ${other.name} of one side, expected every seed once; ` +
            'see `coevolve list`',
        );
    }
  const alone = (own: readonly Seeded[], other: readonly Seeded[]): string =>
    own
      .filter(({ seed }) => other.every((row) => row.seed !== seed))
      .map(({ name, seed }) => `${name} (seed ${seed})`)
      .join(', ') || 'nothing';
  const [onlyA, onlyB] = [alone(a, b), alone(b, a)];
  if (onlyA !== 'nothing' || onlyB !== 'nothing')
    throw new UsageError(
      `seeds: found ${onlyA} only on --a and ${onlyB} only on --b, expected the same campaign seeds on both sides; ` +
        'start the missing ones with `coevolve start`',
    );
}

type Tested = { campaign: string; testHash: string | null };

/** Requires that the two campaigns of every pair were scored on the same tasks of test. */
export function requireEqualTests(pairs: readonly (readonly [Tested, Tested])[]): void {
  for (const pair of pairs) {
    const [one, other] = pair;
    if (one.testHash !== null && one.testHash === other.testHash) continue;
    const without = pair.find(({ testHash }) => testHash === null);
    throw new UsageError(
      `test set: found ${without ? `none in ${without.campaign}` : 'other tasks'} in the pair ${one.campaign} and ` +
        `${other.campaign}, expected the same tasks of test; ` +
        `\`coevolve compare ${one.campaign} ${other.campaign}\` shows the keys that differ`,
    );
  }
}
