/** Worker crashes that one activity survives. The limit ends an activity that crashes its worker every time. */
const maxCrashes = 40;

/** Returns the maximum attempts of an activity that may fail `failures` times: Temporal counts failures and crashes alike. */
export const maxAttemptsWithCrashes = (failures: number): number => failures + maxCrashes;

/** Returns how often an activity with these maximum attempts may fail; Infinity where they include no crashes. */
export const maxFailures = (maxAttempts: number | undefined): number =>
  maxAttempts !== undefined && maxAttempts > maxCrashes ? maxAttempts - maxCrashes : Infinity;
