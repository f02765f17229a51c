import type { Kill } from './kill';
import type { Played } from './measure';

export const systemNames = ['bare', 'coevolve', 'dbos', 'restate'] as const;
export type SystemName = (typeof systemNames)[number];

type Setting = {
  /** `bare`: a plain asyncio loop over the same servers, without any guarantee. */
  system: SystemName;
  attemptMs: number;
  turns: number;
  sigma: number;
  /** Rollout workers, or processes of another system. */
  workers: number;
  /** Places of all workers. */
  places: number;
  attempts: number;
  idealSeconds: number;
};

export type PlayedRow = Setting & {
  /** Parts that were played one after the other, as reinforcement learning plays its steps. */
  steps: number;
  seconds: number;
  /** To the ideal queue. */
  ratio: number;
  /** To the bare loop; absent when it was not played. */
  bareRatio?: number;
  /** Processor milliseconds of an attempt, by process. */
  cpuMs: Record<string, number>;
} & Partial<Pick<Played, 'shares' | 'events' | 'historyBytes' | 'transactions'>>;

export type KillRow = Setting & {
  /** Of the whole rollout with its kill; null if it never ended. */
  seconds: number | null;
  kill: Kill;
};

export type Row = PlayedRow | KillRow;

export const lineOf = (row: Row): string => `${('kill' in row ? partsOfKill(row) : partsOf(row)).join('; ')}\n`;

function partsOf({ steps, seconds, idealSeconds, ratio, bareRatio, cpuMs, ...row }: PlayedRow): string[] {
  const cpu = Object.entries(cpuMs)
    .filter(([, ms]) => ms >= 0.05)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`);
  return [
    `${nameOf(row)}${steps > 1 ? `, ${steps} steps` : ''}: ${seconds.toFixed(2)} s`,
    ...(idealSeconds > 0 ? [`ideal ${idealSeconds.toFixed(2)} s`, `ratio ${ratio.toFixed(3)}`] : []),
    ...(bareRatio === undefined ? [] : [`to the bare loop ${bareRatio.toFixed(3)}`]),
    `processor ms an attempt: ${cpu.join(', ')}`,
    ...(row.shares ? [`attempts by worker ${row.shares.join(', ')}`] : []),
    ...(row.events ? [`${row.events} events of ${Math.round(row.historyBytes! / 1024)} KiB`] : []),
    ...(row.transactions ? [`${row.transactions.toFixed(1)} transactions an attempt`] : []),
  ];
}

function partsOfKill({ seconds, kill, ...row }: KillRow): string[] {
  const { begins, ends, resumed, lost, twice, requestsAgain } = kill;
  const inSeconds = (value: number | null): string => (value === null ? 'never' : `after ${value.toFixed(2)} s`);
  return [
    `${nameOf(row)}, worker killed: ${seconds === null ? 'no end' : `${seconds.toFixed(2)} s`}`,
    `an attempt begins ${inSeconds(begins)}`,
    `one ends ${inSeconds(ends)}`,
    `all interrupted ones have begun again ${inSeconds(resumed)}`,
    `${lost} lost`,
    `${twice} twice`,
    ...(requestsAgain === null ? [] : [`${requestsAgain} requests again`]),
  ];
}

const nameOf = ({ system, attemptMs, sigma, workers }: Omit<Setting, 'idealSeconds'>): string =>
  `${system}, ${attemptMs} ms, sigma ${sigma}, ${workers} workers`;
