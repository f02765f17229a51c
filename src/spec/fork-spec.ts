import { DomainError } from '../domain/base/errors';
import type { CampaignSpec } from './campaign-spec';
import { differencesOf } from './differences';
import { parseYaml } from '../base/parse-yaml';
import { resolveSpec } from './read-spec';

export type ForkRequest = {
  name: string;
  /** The last iteration that is taken over from the source. */
  iteration: number;
  /** `<key>=<yaml>` each, as `training.dpo.beta=0.2`. */
  changes: readonly string[];
};

/**
 * The spec of a fork: the source's under another name, with changes of keys that later iterations read.
 *
 * @param source the resolved spec of the source
 * @throws DomainError `InvalidFork`, which names the key; `InvalidSpec` when the changed spec is none
 */
export function forkSpec(source: CampaignSpec, { name, iteration, changes }: ForkRequest): CampaignSpec {
  const changed = structuredClone(source) as Record<string, unknown>;
  changed['name'] = name;
  for (const change of changes) apply(changed, change);
  const spec = resolveSpec(changed, `the fork ${name}`);
  for (const { key } of differencesOf(source, spec)) requireReadLater(key);
  if (spec.iterations <= iteration)
    throw refusal(
      `--from-iteration ${iteration} is the last of ${spec.iterations}: nothing is left to do; ask for more with \`--set iterations=${iteration + 1}\``,
    );
  return spec;
}

function apply(spec: Record<string, unknown>, change: string): void {
  const equals = change.indexOf('=');
  if (equals < 1) throw refusal(`--set: found "${change}", expected <key>=<value>, as in training.dpo.beta=0.2`);
  const path = change.slice(0, equals).split('.');
  const parsed = parseYaml(change.slice(equals + 1));
  if ('problems' in parsed) throw refusal(`--set ${path.join('.')}: ${parsed.problems.join('; ')}`);
  if (path[0] === 'name') throw refusal('--set name: the name of a fork is what --name says');
  let place = spec;
  for (const key of path.slice(0, -1)) {
    const inner = Object.hasOwn(place, key) ? place[key] : null;
    if (typeof inner !== 'object' || inner === null)
      throw refusal(`--set ${path.join('.')}: the spec has no section ${key}`);
    place = inner as Record<string, unknown>;
  }
  place[path.at(-1)!] = parsed.value;
}

/** What the iterations after the start read; the rest has shaped the rows that the fork begins with. */
const readLater = [
  ...['iterations', 'rollouts', 'signals', 'llm', 'budget', 'synthesis', 'admission', 'judge', 'pool', 'pairs'],
  ...['training', 'promotion', 'weight'],
];

/** Within those, what the start alone reads, or has decided for good. */
const readAtStart = ['training.init', 'training.sft', 'synthesis.initialTasks'];

function requireReadLater(key: string): void {
  const isIn = (sections: readonly string[]): boolean =>
    sections.some((section) => key === section || key.startsWith(`${section}.`));
  if (key === 'name' || (isIn(readLater) && !isIn(readAtStart))) return;
  throw refusal(
    `--set ${key}: a fork changes only what its own iterations read (${readLater.join(', ')}), and the rows that it begins with were made with the old value; start a campaign of its own with \`coevolve start\``,
  );
}

const refusal = (message: string): DomainError => new DomainError('InvalidFork', message);
