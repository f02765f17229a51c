/** Deaths of its worker that an activity may survive: what kills its worker each time has to be given up too. */
const maxCrashes = 40;

/** What Temporal is told, which counts tries whatever ended them, for an activity that may fail so often. */
export const maxAttemptsWithCrashes = (mostFailures: number): number => mostFailures + maxCrashes;

/** How often an activity may fail that may be tried so often; Infinity where nobody reckoned with deaths. */
export const maxFailures = (tries: number | undefined): number =>
  tries !== undefined && tries > maxCrashes ? tries - maxCrashes : Infinity;
