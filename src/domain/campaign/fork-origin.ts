/** Origin of a campaign; both are null for a campaign that is not a fork. */
export type ForkOrigin = {
  /** Name of the source campaign; null also when the source was deleted. */
  forkedFrom: string | null;
  /** The last iteration that was copied. */
  forkIteration: number | null;
};

/** Describes the origin of a fork; null for a campaign that is not a fork. */
export const forkOrigin = ({ forkedFrom, forkIteration }: ForkOrigin): string | null =>
  forkIteration === null ? null : `${forkedFrom ?? 'a deleted campaign'}, after iteration ${forkIteration}`;
