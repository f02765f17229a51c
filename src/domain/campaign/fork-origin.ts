/** What a campaign began with; both null for one that is no fork. */
export type ForkOrigin = {
  /** Name of the source; null also when it was deleted. */
  forkedFrom: string | null;
  /** The last iteration that was taken over. */
  forkIteration: number | null;
};

/** Whence a fork comes, in words; null for a campaign that is none. */
export const forkOrigin = ({ forkedFrom, forkIteration }: ForkOrigin): string | null =>
  forkIteration === null ? null : `${forkedFrom ?? 'a campaign that is deleted'}, after iteration ${forkIteration}`;
