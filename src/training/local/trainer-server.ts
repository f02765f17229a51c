import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { sha256 } from '../../files/sha256';
import { withLock } from '../../process/lock';
import { findProcess, logFile, rotateLog, saveRecord, startDetached, startTimeOf } from '../../process/processes';
import type { TrainerConfig } from '../contract/backend-module';
import { isForkable, trainerCommand } from './trainer-command';

/** The imports of a server take some 5 s of processor time; 55 s passed on two cores with eight busy processes. */
const startTimeoutMs = 120_000;
const answerTimeoutMs = 10_000;

/**
 * Starts the trainer of a job folder as a fork of the trainer server (trainer/src/coevolve_trainer/serve.py), after the
 * start of the server if it does not run. The process has the pid file, log, session and variables of a command.
 *
 * @param settings of the job
 * @returns false when no trainer was started: the job is not forkable, or the server did not start it
 */
export async function forkTrainer(
  config: TrainerConfig,
  settings: Record<string, unknown>,
  folder: string,
): Promise<boolean> {
  if (!config.trainerServer || failed.has(config.trainerServer) || !isForkable(settings)) return false;
  try {
    const connection = await connectToServer(config, config.trainerServer);
    try {
      return await requestTrainer(connection, folder, { ...process.env, ...trainerCommand(settings, folder).env });
    } finally {
      connection.destroy();
    }
  } catch {
    return false; // the trainer's command will report the cause, such as a missing package
  }
}

/** Folders whose server could not start. This process does not try it again, so that only one job waits in vain. */
const failed = new Set<string>();

/** Returns a connection to the server; starts it if it does not run. Concurrent callers start one. */
async function connectToServer(config: TrainerConfig, folder: string): Promise<Socket> {
  const name = serverName(config);
  for (const part of ['run', 'logs']) await mkdir(join(folder, part), { recursive: true, mode: 0o700 });
  const running = await connectIfListening(folder, name);
  if (running) return running;
  return withLock(
    folder,
    () => undefined,
    async () => (await connectIfListening(folder, name)) ?? startServer(config, folder, name),
  );
}

/** Returns the name of the server whose forked processes equal commands of this process. */
function serverName({ python, projectRoot }: TrainerConfig): string {
  const variables = Object.entries(process.env).flatMap(([name, value]) =>
    unread.test(name) ? [] : `${name}=${value}`,
  );
  return `trainers-${sha256(JSON.stringify([python, projectRoot, ...variables.toSorted()])).slice(0, 16)}`;
}

/** Variables that no Python library reads at its import; they differ between stacks, shells and test processes. */
const unread = /^((COEVOLVE|TEMPORAL|JEST|NODE|npm)_.*|DATABASE_URL|_|SHLVL|PWD|OLDPWD)$/;

async function startServer({ python, projectRoot }: TrainerConfig, folder: string, name: string): Promise<Socket> {
  const isOfStack = folder.startsWith(`${process.env['COEVOLVE_STACK']}/`);
  await startDetached(folder, name, 'trainers', {
    file: python,
    args: ['-m', 'coevolve_trainer', 'serve', socketFile(folder, name)],
    // `down` of a stack ends all processes with its mark, but not a server that other stacks use too
    env: { PYTHONUNBUFFERED: '1', ...(isOfStack ? {} : { COEVOLVE_STACK: '' }) },
    inheritsEnvironment: true,
    cwd: projectRoot,
  });
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline; await sleep(20)) {
    const connection = await connectIfListening(folder, name);
    if (connection) return connection;
    if (!findProcess(folder, name)) break;
  }
  failed.add(folder);
  throw new Error(`the trainer server did not start: see ${logFile(folder, name)}`);
}

const socketFile = (folder: string, name: string): string => join(folder, 'run', `${name}.sock`);

/** The address of a socket has at most 107 bytes, the path of a home may have more: the link to its open folder is short. */
async function connectIfListening(folder: string, name: string): Promise<Socket | undefined> {
  const parent = await open(join(folder, 'run'), 'r');
  const socket = connect(`/proc/self/fd/${parent.fd}/${name}.sock`);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  } finally {
    await parent.close();
  }
}

const answer = z.union([z.object({ pid: z.int(), start_time: z.string() }), z.object({ refused: z.string() })]);

/**
 * Requests a process for a job. It waits until its pid file exists; without a confirmation, also from a caller that was
 * killed, it exits and leaves the job as it was.
 */
async function requestTrainer(connection: Socket, folder: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const log = logFile(folder, 'trainer');
  rotateLog(log);
  // The mark of the stack comes first, because the text of a forked process's variables may be cut off
  const { COEVOLVE_STACK, ...others } = environment;
  const variables = { ...(COEVOLVE_STACK && { COEVOLVE_STACK }), ...others };
  connection.write(`${JSON.stringify({ job: folder, log, environment: variables })}\n`);
  const lines = createInterface({ input: connection });
  const [line] = (await once(lines, 'line', { signal: AbortSignal.timeout(answerTimeoutMs) })) as [string];
  const found = answer.parse(JSON.parse(line));
  // Another start time: the server runs in another container, and its pids mean other processes here
  if ('refused' in found || startTimeOf(found.pid) !== found.start_time) return false;
  saveRecord(folder, 'trainer', { pid: found.pid, startTime: found.start_time, fingerprint: 'trainer' });
  await new Promise<void>((resolve, reject) => connection.end('go\n', resolve).once('error', reject));
  return true;
}
