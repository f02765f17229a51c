import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export type Program = {
  pid: number;
  /** Writes a command as a line of JSON and returns the line that answers it. Rejects if the process ends. */
  ask<T>(command: object): Promise<T>;
  /** Returns when the process has ended. */
  kill(): Promise<void>;
};

/**
 * Starts a program of the bench and returns after its line `ready`. Its standard error is the bench's.
 *
 * @throws Error when it ends before
 */
export async function startProgram(file: string, args: readonly (string | number)[]): Promise<Program> {
  const child = spawn(file, args.map(String), { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  ended.catch(() => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${file} ${args[0]} has ended`);
    return value;
  };
  child.stdin.on('error', () => undefined); // of a killed process
  const first = await nextLine();
  if (first !== 'ready') throw new Error(`found ${first}, expected the line "ready" of ${args[0]}`);
  return {
    pid: child.pid!,
    async ask<T>(command: object) {
      child.stdin.write(`${JSON.stringify(command)}\n`);
      return JSON.parse(await nextLine()) as T;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
