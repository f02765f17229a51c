import { campaignSpecSchema, type CampaignSpec } from './campaign-spec';
import { wrongSets } from './evaluation-settings';
import { brokenRules } from './key-rules';
import { absurdRates } from './learning-rates';
import { uselessReuse } from './nondeterminism';
import { longSchedules, unclearLengths } from './training-settings';

/** Rules of several keys together. */
const sharedRules: readonly ((spec: CampaignSpec) => string[])[] = [
  ({ policy, training }) => absurdRates(policy, training, policy.parameters),
  ({ compute }) => uselessReuse({ compute }),
  ({ training, iterations }) => longSchedules(training, iterations),
  ({ training }) => unclearLengths(training),
  ({ environment, evaluation, iterations }) => wrongSets({ environment, evaluation, iterations }),
];

/**
 * Returns one line per key that has no effect or whose value does not fit other keys.
 *
 * @param broken sections with other mistakes, whose values are unknown: rules that read them are skipped
 */
export function checkRules(spec: CampaignSpec, broken: ReadonlySet<string> = new Set()): string[] {
  const ask = <Answer>(rule: (spec: CampaignSpec) => Answer): Answer | undefined => {
    const read = new Set<string>();
    const answer = rule(new Proxy(spec, { get: (target, key) => (read.add(String(key)), Reflect.get(target, key)) }));
    return [...read].some((section) => broken.has(section)) ? undefined : answer;
  };
  const intact = Object.fromEntries(Object.entries(spec).filter(([section]) => !broken.has(section)));
  return [...brokenRules(campaignSpecSchema, intact, ask), ...sharedRules.flatMap((rule) => ask(rule) ?? [])];
}
