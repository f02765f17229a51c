import { didYouMean } from '../../input/did-you-mean';
import { type Arm, cellCampaign, effortMeasures, type Contrast } from '../../domain/experiment/experiment';
import { type PoolShare, poolShareOf } from '../../domain/experiment/pool-shares';
import { growsPool, recipes } from '../../domain/campaign/recipe';
import type { CampaignSpec } from '../campaign-spec';
import type { ExperimentFile } from './experiment-schema';

/** Returns the numbers of seeds after which the scores may be analysed. */
export const looksOf = (seeds: ExperimentFile['seeds']): readonly number[] =>
  typeof seeds === 'number' ? [seeds] : seeds.looks;

type ContrastItem = ExperimentFile['analysis']['secondary'][number];

/** Reads `<arm> - <arm>`; undefined for another text. Names of arms have hyphens, so the spaces separate. */
export function contrastOf(item: ContrastItem): Contrast | undefined {
  const { contrast, metric } = typeof item === 'string' ? { contrast: item } : item;
  const [, plus, minus] = /^\s*(\S+)\s+-\s+(\S+)\s*$/.exec(contrast) ?? [];
  if (plus === undefined || minus === undefined) return undefined;
  const name = `${plus} - ${minus}`;
  return metric === undefined ? { name, plus, minus } : { name: `${name}, ${metric}`, plus, minus, metric };
}

/** Returns one line per mistake in contrasts, ordering, metric, match rules and looks. */
export function analysisProblems({ arms, analysis, match, seeds, stopping }: ExperimentFile): string[] {
  const names = Object.keys(arms);
  const items: { at: string; item: ContrastItem }[] = [
    { at: 'analysis.primary.contrast', item: analysis.primary.contrast },
    ...analysis.secondary.map((item) => ({ at: 'analysis.secondary', item })),
  ];
  const contrasts = items.flatMap(({ item }) => contrastOf(item)?.name ?? []);
  const looks = looksOf(seeds);
  return [
    ...items.flatMap(({ at, item }) => contrastProblems(at, item, names)),
    ...contrasts
      .filter((name, n) => contrasts.indexOf(name) !== n)
      .map((name) => `analysis.secondary: found "${name}" a second time, expected every contrast once`),
    ...(analysis.ordering ?? []).flatMap((name) => unknownArm('analysis.ordering', name, names)),
    ...metricProblems(analysis.metric),
    ...match.equal
      .filter((measure) => measure in match.within)
      .map((measure) => `match.within: found ${measure}, which match.equal has too, expected it once`),
    ...(looks.length === 2 && looks[0]! >= looks[1]!
      ? [`seeds: found looks ${looks.join(', ')}, expected ascending numbers`]
      : []),
    ...(['futility', 'decided'] as const)
      .filter((key) => stopping[key] && looks.length < 2)
      .map(
        (key) =>
          `stopping.${key}: found ${stopping[key]}, expected nothing: with one look there is nothing to end early; write \`seeds: { looks: [8, 16] }\``,
      ),
  ];
}

function contrastProblems(at: string, item: ContrastItem, names: readonly string[]): string[] {
  const contrast = contrastOf(item);
  const text = typeof item === 'string' ? item : item.contrast;
  if (!contrast) return [`${at}: found ${JSON.stringify(text)}, expected two arms as in "${names[1]} - ${names[0]}"`];
  if (contrast.plus === contrast.minus)
    return [`${at}: found "${text}", expected two different arms; \`replicaOf\` declares an A/A comparison`];
  return [contrast.plus, contrast.minus].flatMap((name) => unknownArm(at, name, names));
}

const unknownArm = (at: string, name: string, names: readonly string[]): string[] =>
  names.includes(name)
    ? []
    : [`${at}: found the arm "${name}", expected one of ${names.join(', ')}${didYouMean(name, names)}`];

function metricProblems(metric: string): string[] {
  const measure = /^aulc\((\w+)\)$/.exec(metric)?.[1];
  if (measure !== undefined && (effortMeasures as readonly string[]).includes(measure)) return [];
  if (/^(success|reward)(@[\w-]+=[^=]+)?$/.test(metric) || passedOf(metric) !== null) return [];
  const expected =
    measure === undefined
      ? 'success, reward, success@<feature>=<value>, reward@<feature>=<value>, pass@<k> or aulc(<measure>)'
      : `one of ${effortMeasures.join(', ')} in the brackets${didYouMean(measure, effortMeasures)}`;
  return [`analysis.metric: found "${metric}", expected ${expected}`];
}

/**
 * Returns one line per contrast of a share of the pool that an arm does not have, or no cell counts: pools are counted by the
 * features of the breakdown.
 */
export function shareProblems({ analysis }: ExperimentFile, arms: readonly Arm[]): string[] {
  return analysis.secondary.flatMap((item) => {
    const { name, plus, minus, metric } = contrastOf(item) ?? {};
    if (metric === undefined) return [];
    const at = `analysis.secondary, ${name}`;
    const share = poolShareOf(metric);
    if (!share) return [`${at}: found ${metric}, expected parents@<feature>=<value> or admitted@<feature>=<value>`];
    if (!analysis.breakdown.includes(share.feature))
      return [
        `${at}: found the feature ${share.feature}, expected one of analysis.breakdown: ${analysis.breakdown.join(', ') || 'none yet'}`,
      ];
    const aims = aimsWith[share.step];
    return arms
      .filter((arm) => (arm.name === plus || arm.name === minus) && !aims.includes(aimsOf(arm)))
      .map(
        (arm) =>
          `${at}: found the arm ${arm.name} with aims ${aimsOf(arm)}, expected ${aims.join(' or ')}, which have ${share.step}`,
      );
  });
}

/** Candidates of `random` have no parents. */
const aimsWith: Record<PoolShare['step'], readonly string[]> = {
  parents: ['signals', 'shuffled'],
  admitted: ['signals', 'shuffled', 'random'],
};

function aimsOf({ spec }: Arm): string {
  const { recipe, synthesis } = spec as Pick<CampaignSpec, 'recipe' | 'synthesis'>;
  return growsPool(recipes[recipe]) ? synthesis.aims : 'none';
}

/** Returns the k of the metric `pass@<k>`, null of another one. */
export const passedOf = (metric: string): number | null => {
  const k = /^pass@([1-9]\d*)$/.exec(metric)?.[1];
  return k === undefined ? null : Number(k);
};

/** Returns one line per arm that attempts a test task less often than the metric `pass@<k>` needs. */
export function passProblems(metric: string, arms: readonly { name: string; attempts: number }[]): string[] {
  const k = passedOf(metric) ?? 0;
  return arms
    .filter(({ attempts }) => attempts < k)
    .map(
      ({ name, attempts }) =>
        `analysis.metric: found ${metric}, and the arm ${name} with evaluation.attempts ${attempts}, expected at least ${k} attempts at a task; set evaluation.attempts`,
    );
}

/** Every cell is a campaign, whose name has at most 63 characters. */
export function sizeProblems({ name, arms, seeds }: ExperimentFile): string[] {
  const seed = looksOf(seeds).at(-1)!;
  return Object.keys(arms).flatMap((arm) => {
    const campaign = cellCampaign(name, { arm, seed });
    if (campaign.length <= maxName) return [];
    return [
      `arms.${arm}: found the campaign name ${campaign} of ${campaign.length} characters, expected at most ${maxName}; shorten the name of the experiment or of the arm`,
    ];
  });
}

const maxName = 63;
