import { mean } from '../../domain/evaluation/statistics';
import { codeOf, type PlayedOn } from '../../domain/experiment/played-on';
import { groupBy } from '../../domain/group-by';
import { signedPoints } from '../../domain/formats';
import type { ContrastResult } from '../../statistics/analysis-output';
import { number, table, text } from '../../tables/table';
import { note } from '../page/blocks';
import type { Section } from '../page/section';
import type { ExperimentReport } from './report';

type Analysed = Pick<ExperimentReport, 'record' | 'analysis'>;

/** The seeds of a contrast whose two cells were played at one place: a machine with one processor and one code. */
export type PlaceBlock = {
  contrast: string;
  machine: string;
  processor: string;
  code: string;
  seeds: readonly number[];
  /** Mean over these seeds, as a share. */
  difference: number;
};

/** Returns whether any cell records where it was played; those of an older table do not. */
export const hasPlaces = ({ record }: Analysed): boolean =>
  record.cells.some(({ manifest }) => manifest?.playedOn !== undefined);

/** Returns the seeds whose two arms were played on other processors or by other code, with both, or null. */
export function otherPlaces({ record, analysis }: Analysed, contrast: ContrastResult): string | null {
  const found = seedsOf(analysis.look).flatMap((seed) => {
    const [a, b] = placesOf(record, contrast, seed);
    if (!a || !b || (a.processor === b.processor && codeOf(a) === codeOf(b))) return [];
    return [`seed ${seed} (${a.processor}, ${codeOf(a)} against ${b.processor}, ${codeOf(b)})`];
  });
  return found.length === 0
    ? null
    : `the arms of ${contrast.contrast} were played at different places: ${found.join('; ')}`;
}

/** Lists the blocks of each contrast whose seeds were played at more than one place. They describe and test nothing. */
export const placeBlocks = (report: Analysed): PlaceBlock[] =>
  report.analysis.contrasts.flatMap((own) => blocksOf(report, own));

function blocksOf({ record }: Analysed, contrast: ContrastResult): PlaceBlock[] {
  const placed = contrast.differences.flatMap(({ seed, value }) => {
    const [a, b] = placesOf(record, contrast, seed);
    return a && b && keyOf(a) === keyOf(b) ? [{ seed, value, place: a }] : [];
  });
  const groups = [...groupBy(placed, ({ place }) => keyOf(place)).values()];
  if (groups.length < 2) return [];
  return groups.map((group) => {
    const { place } = group[0]!;
    return {
      contrast: contrast.contrast,
      machine: place.machine,
      processor: place.processor ?? 'unknown',
      code: codeOf(place),
      seeds: group.map(({ seed }) => seed),
      difference: mean(group.map(({ value }) => value)),
    };
  });
}

export const blocksTable = (blocks: readonly PlaceBlock[]) =>
  table('Blocks: seeds by the place where they were played', blocks, [
    text('contrast', ({ contrast }) => contrast),
    text('machine', ({ machine }) => machine),
    text('processor', ({ processor }) => processor),
    text('code', ({ code }) => code),
    text('seeds', ({ seeds }) => seeds.join(', ')),
    number('difference', ({ difference }) => difference, signedPoints),
  ]);

/** Differences of the machines on which whole seeds were played. */
export const blocksSection: Section<ExperimentReport> = {
  id: 'blocks',
  title: 'Blocks',
  body(report) {
    const blocks = placeBlocks(report);
    if (blocks.length === 0) return null;
    return [
      note(
        'This experiment has blocks: whole seeds were played on other machines or by other code. Mean differences in points. ' +
          'Nothing is tested: with few blocks, what a machine adds cannot be told from what its seeds add.',
      ),
      blocksTable(blocks),
    ];
  },
};

/** Numbers of the seeds of a look. */
export const seedsOf = (look: number): number[] => Array.from({ length: look }, (_, i) => i + 1);

const keyOf = (place: PlayedOn): string => [place.machine, place.processor, codeOf(place)].join('\n');

/** Where the two cells of a seed were played, as far as it is recorded. */
const placesOf = ({ cells }: Analysed['record'], { plus, minus }: ContrastResult, seed: number) =>
  [plus, minus].map((arm) => cells.find((cell) => cell.arm === arm && cell.seed === seed)?.manifest?.playedOn);
