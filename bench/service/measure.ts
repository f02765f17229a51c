import { processorSeconds } from './processor-time';
import type { Outcome, System } from './systems/system';

export type Played = Omit<Outcome, 'results'> & {
  /** Processor milliseconds of an attempt, by process. */
  cpuMs: Record<string, number>;
  /** Transactions of the database for an attempt. */
  transactions?: number;
};

/**
 * Plays attempts and adds the processor time and the transactions of each.
 *
 * @throws Error unless every attempt has one result, with its reward
 */
export async function playMeasured(system: System, attempts: number): Promise<Played> {
  const processes = system.processes();
  const before = { transactions: await system.transactions?.(), cpu: processorSeconds(processes) };
  const { results, ...played } = await system.play(attempts);
  const cpu = processorSeconds(processes);
  const after = await system.transactions?.();
  const { rows, attempts: stored, rewarded } = results;
  if (rows !== attempts || stored !== attempts || rewarded !== attempts)
    throw new Error(`found ${rows} results of ${stored} attempts, ${rewarded} with reward 1, expected ${attempts}`);
  const cpuMs = Object.fromEntries(
    Object.entries(cpu).map(([name, seconds]) => [name, (1000 * (seconds - (before.cpu[name] ?? 0))) / attempts]),
  );
  const transactions = after === undefined ? {} : { transactions: (after - before.transactions!) / attempts };
  return { ...played, cpuMs, ...transactions };
}
