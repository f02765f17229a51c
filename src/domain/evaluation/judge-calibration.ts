import { fisherExact, type Sample, wilsonInterval, type Interval } from './statistics';

/** A subject whose verdict is known, and what the judge said; null when it gave no usable answer. */
export type JudgedItem = { broken: boolean; completed: boolean | null };

/** Positive is "completed": a gold trajectory that is judged so is a true positive. */
export type Confusion = {
  truePositives: number;
  falsePositives: number;
  trueNegatives: number;
  falseNegatives: number;
  unusable: number;
};

/** A share with its Wilson interval; null and [0, 1] where nothing was counted. */
export type Rate = Interval & { rate: number | null };

export type Trust = {
  /** Right verdicts among the usable ones. */
  agreement: Rate;
  /** Gold among what was judged completed. */
  precision: Rate;
  /** Judged completed among gold. */
  recall: Rate;
};

export function countVerdicts(items: readonly JudgedItem[]): Confusion {
  const count = (broken: boolean, completed: boolean): number =>
    items.filter((item) => item.broken === broken && item.completed === completed).length;
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
  const right = truePositives + trueNegatives;
  const rate = (hits: number, n: number): Rate => ({
    rate: n === 0 ? null : hits / n,
    ...wilsonInterval(hits, n, confidence),
  });
  return {
    agreement: rate(right, right + falsePositives + falseNegatives),
    precision: rate(truePositives, truePositives + falsePositives),
    recall: rate(truePositives, truePositives + falseNegatives),
  };
}

export type Calibration = { judgeVersion: string; counts: Confusion };

/** Chance that a judge that did not change is said to have drifted, at most, over the three shares together. */
const alarmRate = 0.05;

/**
 * Why a judge is no longer the one of the first calibration; null when nothing tells them apart. Another version is
 * always a reason. Otherwise three shares are compared by Fisher's exact test, each at a third of `alarmRate`
 * (Bonferroni): gold that it judges completed, broken that it judges not completed, and usable answers. Shares and not
 * agreement alone, which stays as it is when a judge grows lenient and misses less of the other kind.
 */
export function findDrift(now: Calibration, first: Calibration | null): string | null {
  if (!first) return null;
  if (now.judgeVersion !== first.judgeVersion)
    return `the judge is "${now.judgeVersion}", at first it was "${first.judgeVersion}"`;
  const was = shares(first.counts);
  const moved = Object.entries(shares(now.counts)).flatMap(([name, share]) => {
    const before = was[name as keyof typeof was];
    const p = fisherExact(share, before);
    return p < alarmRate / 3
      ? [`${name}: ${written(share)}, at first ${written(before)} (p = ${p.toPrecision(2)})`]
      : [];
  });
  return moved.length > 0 ? moved.join('; ') : null;
}

const shares = (counts: Confusion) => {
  const { truePositives, falsePositives, trueNegatives, falseNegatives, unusable } = counts;
  const usable = truePositives + falsePositives + trueNegatives + falseNegatives;
  return {
    'gold judged completed': { hits: truePositives, n: truePositives + falseNegatives },
    'broken judged not completed': { hits: trueNegatives, n: trueNegatives + falsePositives },
    'usable answers': { hits: usable, n: usable + unusable },
  } satisfies Record<string, Sample>;
};

const written = ({ hits, n }: Sample): string => `${hits} of ${n}`;
