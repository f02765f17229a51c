import { idealSeconds, lognormalLengths } from './attempt-lengths';
import { playWithKill } from './kill';
import type { Load } from './load';
import { playMeasured, type Played } from './measure';
import type { PlayedRow, Row, SystemName } from './rows';
import type { System } from './systems/system';

export type Setting = {
  attempts: number;
  attemptMs: number;
  sigma: number;
  /** Rollout workers of coevolve; the others have one process. */
  workers: number;
  /** Parts in which coevolve also plays the attempts, one after the other. */
  steps: number;
  /** Plays the attempts once more, with a kill. */
  isKilled: boolean;
};

/** Starts a system; a system that is up already is returned as it is. */
export type Start = (name: SystemName) => Promise<System>;

/** Plays the same attempts in each system, one system after the other. The first one is the measure of the others if it is `bare`. */
export async function* playSetting(
  { attempts, attemptMs, sigma, workers, steps, isKilled }: Setting,
  { servers, places, turns }: Load,
  systems: readonly SystemName[],
  start: Start,
): AsyncGenerator<Row> {
  const lengths = lognormalLengths(attempts, { mean: attemptMs / 1000, sigma });
  const setLengths = (part: readonly number[]): void => servers.setLengths(part.map((seconds) => seconds / turns));
  const idealTime = idealSeconds(lengths, places);
  let bareSeconds: number | undefined;

  for (const name of systems) {
    servers.setLengths([]);
    const system = await start(name);
    const processes = name === 'coevolve' ? workers : 1;
    const setting = {
      system: name,
      attemptMs,
      turns,
      sigma,
      workers: processes,
      places,
      attempts,
      idealSeconds: idealTime,
    };
    try {
      await system.play(places); // the first rollout of a process also compiles its code
      for (const parts of name === 'coevolve' ? new Set([1, steps]) : [1]) {
        const played: Played[] = [];
        for (const part of inParts(lengths, parts)) {
          setLengths(part);
          played.push(await playMeasured(system, part.length));
        }
        const seconds = sum(played.map((part) => part.seconds));
        if (name === 'bare') bareSeconds = seconds;
        const bareRatio = bareSeconds === undefined ? {} : { bareRatio: seconds / bareSeconds };
        yield { ...setting, steps: parts, seconds, ratio: seconds / idealTime, ...bareRatio, ...totals(played) };
      }
      if (!isKilled) continue;
      setLengths(lengths);
      const { seconds, ...kill } = await playWithKill(system, servers, { attempts, turns });
      yield { ...setting, seconds, kill };
    } finally {
      await system.stop();
    }
  }
}

/** Joins the parts of a rollout. */
function totals(
  played: readonly Played[],
): Pick<PlayedRow, 'cpuMs' | 'shares' | 'events' | 'historyBytes' | 'transactions'> {
  const [first] = played;
  const mean = (numbers: number[]): number => sum(numbers) / numbers.length;
  const sumOf = (key: 'events' | 'historyBytes'): number => sum(played.map((part) => part[key] ?? 0));
  return {
    cpuMs: Object.fromEntries(
      Object.keys(first!.cpuMs).map((name) => [name, mean(played.map(({ cpuMs }) => cpuMs[name] ?? 0))]),
    ),
    ...(first!.transactions === undefined ? {} : { transactions: mean(played.map((part) => part.transactions!)) }),
    ...(first!.shares && {
      shares: first!.shares.map((_, n) => sum(played.map(({ shares }) => shares![n] ?? 0))),
      events: sumOf('events'),
      historyBytes: sumOf('historyBytes'),
    }),
  };
}

const sum = (numbers: number[]): number => numbers.reduce((all, number) => all + number, 0);

/** Splits lengths into consecutive parts of about equal size; reinforcement learning plays one after the end of another. */
const inParts = (lengths: number[], parts: number): number[][] =>
  Array.from({ length: parts }, (_, n) =>
    lengths.slice(Math.round((lengths.length * n) / parts), Math.round((lengths.length * (n + 1)) / parts)),
  );
