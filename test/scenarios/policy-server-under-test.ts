import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readConfig } from '../../src/config';
import type { ChatMessage } from '../../src/domain/rollout/turn';

const run = promisify(execFile);
const config = readConfig();
const environment = { ...process.env, OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1' };

/** Which server is tested, and how far its log-probabilities may be from the trainer's, in nats. */
export const kinds = {
  small: { module: 'coevolve_policy_server', options: ['--max-context', '256'], tolerance: 1e-4 },
  vllm: {
    module: 'coevolve_vllm',
    options: ['--max-context', '256', '--threads', '1', '--vllm-python', config.policyServer.vllmPython],
    tolerance: 1e-3,
  },
} as const;

export type Kind = keyof typeof kinds;

export type PolicyName = 'base' | 'red' | 'blue' | 'green' | 'lime';

export type Served = { policy: string; messages: ChatMessage[]; tokenIds: number[] };

export type ServerUnderTest = {
  url: string;
  token: string;
  /** Hashes of the policies that `make-policies.py` made. */
  policies: Record<PolicyName, string>;
  /** Where a policy lies. */
  folderOf(policy: string): string;
  /** What the trainer makes of answers. */
  scored(answers: Served[]): Promise<{ promptIds: number[]; text: string; logprobs: number[] }[]>;
  /** Pids of the processes that the server started. */
  children(): number[];
  stop(): Promise<void>;
};

/** Trains the policies and starts a server of the given kind, which serves none of them yet. */
export async function startServerUnderTest(kind: Kind): Promise<ServerUnderTest> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-policies-'));
  const [store, work] = [path.join(folder, 'store'), path.join(folder, 'work')];
  for (const place of [store, work]) mkdirSync(place);
  const made = await run(config.python, [script('make-policies.py'), store, work], { env: environment });
  const token = 'conformance';
  writeFileSync(path.join(folder, 'token'), token);
  const port = await freePort();
  const server = spawn(
    config.python,
    ['-m', kinds[kind].module, '--port', `${port}`, '--token-file', path.join(folder, 'token'), ...kinds[kind].options],
    { env: environment, stdio: ['ignore', 'ignore', process.env['COEVOLVE_TEST_LOG'] ? 'inherit' : 'ignore'] },
  );
  const url = `http://127.0.0.1:${port}`;
  await untilHealthy(url, server);
  return {
    ...{ url, token },
    policies: JSON.parse(made.stdout) as Record<PolicyName, string>,
    folderOf: (policy) => path.join(store, policy),
    scored: (answers) => score(store, answers),
    children: () => childrenOf(server.pid!),
    async stop() {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

const script = (name: string): string => path.join(__dirname, name);

async function score(store: string, answers: Served[]) {
  const scoring = run(config.python, [script('score-answers.py'), store], { env: environment });
  const rows = answers.map(({ tokenIds, ...rest }) => JSON.stringify({ ...rest, token_ids: tokenIds }));
  scoring.child.stdin?.end(rows.join('\n'));
  const { stdout } = await scoring;
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const { prompt_ids: promptIds, ...rest } = JSON.parse(line) as Record<string, unknown>;
      return { promptIds, ...rest } as { promptIds: number[]; text: string; logprobs: number[] };
    });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

async function untilHealthy(url: string, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    const answered = await fetch(`${url}/health`).catch(() => undefined);
    if (answered?.ok) return;
    await sleep(100);
  }
  throw new Error(`the server ended with code ${server.exitCode}; set COEVOLVE_TEST_LOG=1 to see why`);
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
