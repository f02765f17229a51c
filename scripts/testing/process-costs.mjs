import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readStat } from './process-stat.cjs';

const ticksPerSecond = 100; // USER_HZ, the same on every Linux

/**
 * Watches all processes below those that run tests, until `stop`, which returns by test file how many there were and the
 * ticks of those that outlived their parents. A parent that waits for its child counts the child's time itself.
 *
 * @param costs a process that runs tests writes the file that it runs to `<costs>.<pid>`
 */
export function watchProcesses(costs) {
  const owned = new Map(); // by pid and start, because numbers are used again
  let running = new Map(); // file by pid, and by pid and start
  const timer = setInterval(() => (running = look(costs, owned, running)), 200);
  return {
    /** `runners`: pids of the processes that ran the tests. */
    stop(runners) {
      clearInterval(timer);
      const waiting = new Set([...runners, ...[...owned.values()].map(({ pid }) => pid)]);
      const files = new Map();
      for (const { file, parent, ticks } of owned.values()) {
        const cost = files.get(file) ?? { processes: 0, ticks: 0 };
        files.set(file, { processes: cost.processes + 1, ticks: cost.ticks + (waiting.has(parent) ? 0 : ticks) });
      }
      return files;
    },
  };
}

/** Joins the rows of the test files with the times of their processes, the most expensive first. */
export function joinCosts(rows, processes) {
  const files = new Map();
  for (const { file, ticks, ms } of rows) {
    const before = files.get(file) ?? { ticks: 0, ms: 0 };
    files.set(file, { ticks: before.ticks + ticks, ms: before.ms + ms });
  }
  return [...files]
    .map(([file, { ticks, ms }]) => ({
      file,
      cpuSeconds: (ticks + (processes.get(file)?.ticks ?? 0)) / ticksPerSecond,
      processes: processes.get(file)?.processes ?? 0,
      seconds: ms / 1000,
    }))
    .sort((a, b) => b.cpuSeconds - a.cpuSeconds);
}

/** Notes the time of each process of a test file, and returns the file of each running process, if it has one. */
function look(costs, owned, before) {
  const running = new Map();
  if (!existsSync('/proc')) return running;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const { parent, ticks, start } = readStat(pid);
      const key = `${pid} ${start}`;
      // A new process belongs to its parent's file, also when the parent is gone later.
      const file = before.has(key)
        ? before.get(key)
        : (before.get(parent) ?? running.get(parent) ?? fileOf(costs, parent));
      running.set(key, file).set(Number(pid), file);
      if (file !== undefined) owned.set(key, { pid: Number(pid), parent, file, ticks });
    } catch {
      // The process ended meanwhile.
    }
  }
  return running;
}

function fileOf(costs, runner) {
  const current = `${costs}.${runner}`;
  return existsSync(current) ? readFileSync(current, 'utf8') : undefined;
}
