import { didYouMean } from '../../input/did-you-mean';
import { cellCampaign, effortMeasures, type Contrast } from '../../domain/experiment/experiment';
import type { ExperimentFile } from './experiment-schema';

/** Returns the numbers of seeds after which the scores may be analysed. */
export const looksOf = (seeds: ExperimentFile['seeds']): readonly number[] =>
  typeof seeds === 'number' ? [seeds] : seeds.looks;

/** Reads `<arm> - <arm>`; undefined for another text. Names of arms have hyphens, so the spaces separate. */
export function contrastOf(text: string): Contrast | undefined {
  const [, plus, minus] = /^\s*(\S+)\s+-\s+(\S+)\s*$/.exec(text) ?? [];
  return plus === undefined || minus === undefined ? undefined : { name: `${plus} - ${minus}`, plus, minus };
}

/** Returns one line per mistake in contrasts, ordering, metric, match rules and looks. */
export function analysisProblems({ arms, analysis, match, seeds, stopping }: ExperimentFile): string[] {
  const names = Object.keys(arms);
  const texts = [
    { at: 'analysis.primary.contrast', text: analysis.primary.contrast },
    ...analysis.secondary.map((text) => ({ at: 'analysis.secondary', text })),
  ];
  const contrasts = texts.map(({ text }) => contrastOf(text)?.name ?? text);
  const looks = looksOf(seeds);
  return [
    ...texts.flatMap(({ at, text }) => contrastProblems(at, text, names)),
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
    ...(stopping.futility !== null && looks.length < 2
      ? [
          `stopping.futility: found ${stopping.futility}, expected nothing: with one look there is nothing to end early; write \`seeds: { looks: [8, 16] }\``,
        ]
      : []),
  ];
}

function contrastProblems(at: string, text: string, names: readonly string[]): string[] {
  const contrast = contrastOf(text);
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
  if (/^(success|reward)(@[\w-]+=[^=]+)?$/.test(metric)) return [];
  const expected =
    measure === undefined
      ? 'success, reward, success@<feature>=<value>, reward@<feature>=<value> or aulc(<measure>)'
      : `one of ${effortMeasures.join(', ')} in the brackets${didYouMean(measure, effortMeasures)}`;
  return [`analysis.metric: found "${metric}", expected ${expected}`];
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
