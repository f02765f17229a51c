import path from 'node:path';
import type { Load } from '../load';
import { startProgram } from './program';
import { countResults, type System } from './system';

/** Starts a plain asyncio loop. It stores nothing: a kill loses every attempt, and nothing brings it back. */
export async function startBare({ servers, places, turns }: Load, python: string): Promise<System> {
  const file = path.join(__dirname, '..', 'bare_loop.py');
  const program = await startProgram(python, [file, servers.environmentUrl, servers.policyUrl, places, turns]);
  return {
    processes: () => new Map([[program.pid, 'loop']]),
    async play(attempts) {
      const { seconds, rewards } = await program.ask<{ seconds: number; rewards: number[] }>({ attempts });
      return { seconds, results: countResults(Object.keys(rewards), rewards) };
    },
    kill: program.kill,
    stop: program.kill,
    isVolatile: true,
  };
}
