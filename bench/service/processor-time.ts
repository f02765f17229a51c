import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100; // USER_HZ, the same on every Linux

/** Processor seconds by the name of a process. */
export type ProcessorSeconds = Record<string, number>;

/** Returns the processor time that these processes have used, given by id with their names, child processes included. */
export function processorSeconds(owners: ReadonlyMap<number, string>): ProcessorSeconds {
  const processes = new Map(processIds().map((pid) => [pid, readStat(pid)]));
  const seconds: ProcessorSeconds = {};
  for (const [pid, stat] of processes) {
    let owner: number | undefined = pid;
    while (owner !== undefined && !owners.has(owner)) owner = processes.get(owner)?.parent;
    const name = owner === undefined ? undefined : owners.get(owner);
    if (name !== undefined) seconds[name] = (seconds[name] ?? 0) + (stat?.seconds ?? 0);
  }
  return seconds;
}

const processIds = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Returns the parent of a process, and the time of the process and of its ended children; undefined if it has ended. */
function readStat(pid: number): { parent: number; seconds: number } | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { parent: Number(fields[1]), seconds: ticks / ticksPerSecond };
  } catch {
    return undefined;
  }
}
