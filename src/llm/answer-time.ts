/** Time-out without the answer's tokens: for reading the prompt, and for waiting in the server. */
const baseSeconds = 120;
const maxSeconds = 3600;

/** Tokens a second of a provider that has not answered yet: a model of 1.5 B parameters on two busy cores writes 1.8 to 2.7. */
const firstSpeed = 2;

/** A time-out allows an answer three times as slow as the slowest of the last ones. */
const slack = 3;
const remembered = 16;

/** Shorter answers took their time for the prompt. */
const measuredTokens = 32;

/** Returns the time-out of a provider's first call whose answer has up to `tokens` tokens, in seconds. */
export const firstTimeoutSeconds = (tokens: number): number => limited(baseSeconds + tokens / firstSpeed);

const limited = (seconds: number): number => Math.ceil(Math.min(maxSeconds, seconds));

/**
 * Measures the speed of a provider's answers to this process, and derives the time-out of a call from it: a slow server that
 * is still writing must not get the same request again.
 */
export function answerTimes() {
  let speeds: number[] = [];
  let least = 0;

  return {
    /** Returns the time-out of a call whose answer has up to `tokens` tokens, in seconds. */
    timeoutSeconds(tokens: number): number {
      const derived =
        speeds.length === 0 ? firstTimeoutSeconds(tokens) : baseSeconds + (slack * tokens) / Math.min(...speeds);
      return limited(Math.max(least, derived));
    },

    answered(tokens: number, seconds: number): void {
      if (tokens < measuredTokens) return;
      speeds = [...speeds, tokens / seconds].slice(-remembered);
      least = 0;
    },

    /** The next call gets twice the time, until an answer has been measured. */
    timedOut(afterSeconds: number): void {
      least = Math.max(least, 2 * afterSeconds);
    },
  };
}

export type AnswerTimes = ReturnType<typeof answerTimes>;
