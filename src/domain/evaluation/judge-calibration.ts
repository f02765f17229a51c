import { fisherExact, type Sample } from './exact-tests';
import { wilsonInterval, type Interval } from './statistics';
import { pEquals } from '../formats';

/** Verdict of the judge on a calibration item; null without a usable answer. The correct verdict of a corrupted item is false. */
export type JudgedItem = { corrupted: boolean; completed: boolean | null };

/** Positive means "completed": reference actions judged completed are a true positive. */
export type Confusion = {
  truePositives: number;
  falsePositives: number;
  trueNegatives: number;
  falseNegatives: number;
  unusable: number;
};

/** A share with its Wilson interval; null and [0, 1] for an empty sample. */
export type Rate = Interval & { rate: number | null };

export type Trust = {
  /** Correct verdicts among the usable ones. */
  agreement: Rate;
  /** Reference items among the items judged completed. */
  precision: Rate;
  /** Items judged completed among the reference items. */
  recall: Rate;
};

export function countVerdicts(items: readonly JudgedItem[]): Confusion {
  const count = (corrupted: boolean, completed: boolean): number =>
    items.filter((item) => item.corrupted === corrupted && item.completed === completed).length;
  return {
    truePositives: count(false, true),
    falsePositives: count(true, true),
    trueNegatives: count(true, false),
    falseNegatives: count(false, false),
    unusable: items.filter(({ completed }) => completed === null).length,
  };
}

/** @throws DomainError `InvalidConfidence` */
export function measureTrust(counts: Confusion, confidence = 0.95): Trust {
  const { truePositives, falsePositives, trueNegatives, falseNegatives } = counts;
  const correct = truePositives + trueNegatives;
  const rate = (hits: number, n: number): Rate => ({
    rate: n === 0 ? null : hits / n,
    ...wilsonInterval(hits, n, confidence),
  });
  return {
    agreement: rate(correct, correct + falsePositives + falseNegatives),
    precision: rate(truePositives, truePositives + falsePositives),
    recall: rate(truePositives, truePositives + falseNegatives),
  };
}

/**
 * Returns whether a judge may be trusted: it has agreed with the known verdicts as often as a spec requires, and above one
 * half more often than chance allows.
 */
export function isTrusted({ counts }: Pick<Calibration, 'counts'>, minimumAgreement: number): boolean {
  const { correct, asked } = sumsOf(counts);
  if (asked === 0 || correct / asked < minimumAgreement) return false;
  return minimumAgreement <= 0.5 || !isByChance(counts);
}

/** Describes the fault of a judge that is not trusted. */
export function faultOf(counts: Confusion): string {
  const { truePositives, falsePositives, trueNegatives, falseNegatives, unusable } = counts;
  const { asked } = sumsOf(counts);
  if (unusable * 2 >= asked) return 'gives too few usable answers';
  if (trueNegatives + falseNegatives === 0) return 'approves everything';
  if (truePositives + falsePositives === 0) return 'refuses everything';
  return isByChance(counts) ? 'is right no more often than chance allows' : 'is right too rarely';
}

/**
 * Agreements of all items that the judge was asked about. An unusable answer is none: otherwise a judge that answers only
 * where it refuses would be right always.
 */
const sumsOf = (counts: Confusion) => ({
  correct: counts.truePositives + counts.trueNegatives,
  asked: Object.values(counts).reduce((sum, count) => sum + count, 0),
});

/** A judge that answers at random passes for a better one in fewer than 1 of 25 calibrations; with two tasks in 1 of 16. */
function isByChance(counts: Confusion): boolean {
  const { correct, asked } = sumsOf(counts);
  return asked === 0 || wilsonInterval(correct, asked, 0.95).low <= 0.5;
}

export type Calibration = { judgeVersion: string; counts: Confusion };

/** Maximum probability of a reported drift of an unchanged judge, over the three shares together. */
const alarmRate = 0.05;

/**
 * Returns the reason why a judge differs from the judge of the first calibration; null without a detected difference.
 * Another version is always a reason. Otherwise Fisher's exact test compares three shares, each at a third of `alarmRate`
 * (Bonferroni): reference items judged completed, corrupted items judged not completed, and usable answers. The agreement
 * alone is not enough: it stays equal when a judge becomes lenient, because it then misses fewer reference items.
 */
export function findDrift(now: Calibration, first: Calibration | null): string | null {
  if (!first) return null;
  if (now.judgeVersion !== first.judgeVersion)
    return `the judge is "${now.judgeVersion}", at first it was "${first.judgeVersion}"`;
  const sharesBefore = sharesOf(first.counts);
  const differences = Object.entries(sharesOf(now.counts)).flatMap(([name, share]) => {
    const before = sharesBefore[name as keyof typeof sharesBefore];
    const p = fisherExact(share, before);
    return p < alarmRate / 3 ? [`${name}: ${outOf(share)}, at first ${outOf(before)} (${pEquals(p)})`] : [];
  });
  return differences.length > 0 ? differences.join('; ') : null;
}

const sharesOf = (counts: Confusion) => {
  const { truePositives, falsePositives, trueNegatives, falseNegatives, unusable } = counts;
  const usable = truePositives + falsePositives + trueNegatives + falseNegatives;
  return {
    'reference judged completed': { hits: truePositives, n: truePositives + falseNegatives },
    'corrupted judged not completed': { hits: trueNegatives, n: trueNegatives + falsePositives },
    'usable answers': { hits: usable, n: usable + unusable },
  } satisfies Record<string, Sample>;
};

const outOf = ({ hits, n }: Sample): string => `${hits} of ${n}`;
