/** Deaths of its worker that an activity may survive: what kills its worker each time has to be given up too. */
const mostDeaths = 40;

/** What Temporal is told, which counts tries whatever ended them, for an activity that may fail so often. */
export const triesFor = (mostFailures: number): number => mostFailures + mostDeaths;

/** How often an activity may fail that may be tried so often; Infinity where nobody reckoned with deaths. */
export const failuresWithin = (tries: number | undefined): number =>
  tries !== undefined && tries > mostDeaths ? tries - mostDeaths : Infinity;
