import { canonicalJson } from '../../domain/canonical-json';
import type { EnvironmentSession, Observation } from '../../envs/contract/environment';

/** Stop reason of an attempt whose own text has ended its world, also of our environment server: its reward is 0. */
export const worldEnded = 'world-ended';

/** Times at which the environments have last answered an action of any attempt of this worker. */
export type AnswerTimes = Map<string, number>;

/**
 * Finds out whether an attempt's own text breaks its sessions, on a server that does not find it out itself: each session
 * broke at the same action of the same turn, while the environment answered other actions. A fault of the infrastructure
 * also befalls other texts. In further sessions that action has the result 0 and is not played again.
 */
export function worldEnds(environment: string, answered: AnswerTimes) {
  const broken: (string | null)[] = [];
  let firstBreakAt = Infinity;
  let unanswered: string | null = null;
  let ended: string | null = null;
  return {
    /** Watches the actions of a session. */
    watch(session: EnvironmentSession): EnvironmentSession {
      let turn = 0;
      unanswered = null;
      return {
        ...session,
        async step(action) {
          const played = canonicalJson([turn, action]);
          if (played === ended) return endOfWorld;
          unanswered = played;
          const observation = await session.step(action);
          unanswered = null;
          turn++;
          answered.set(environment, performance.now());
          return observation;
        },
      };
    },
    /** Records that the session broke; the sessions of one attempt follow each other. */
    recordBreak(): void {
      broken.push(unanswered);
      firstBreakAt = Math.min(firstBreakAt, performance.now());
    },
    /** Returns, at most once, whether the text breaks its sessions: the attempt then ends in one more session. */
    isByText(): boolean {
      const [first] = broken;
      const isSame = first !== null && broken.every((action) => action === first);
      if (ended !== null || !isSame || (answered.get(environment) ?? 0) <= firstBreakAt) return false;
      ended = first!;
      return true;
    },
  };
}

const endOfWorld: Observation = {
  messages: [{ role: 'user', content: 'This action ended its world.' }],
  done: true,
  reward: 0,
  score: null,
  rawScore: 0,
  stopReason: worldEnded,
};
