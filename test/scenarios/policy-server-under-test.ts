import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../support/environment-server';
import { readConfig } from '../../src/config';
import type { ChatMessage } from '../../src/domain/rollout/turn';

const run = promisify(execFile);
const config = readConfig();
const environment = { ...process.env, OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1' };

/** Servers under test; `tolerance`: maximum difference to the trainer's log-probabilities, in nats. */
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
  /** Hashes of the policies of `make-policies.py`. */
  policies: Record<PolicyName, string>;
  /** Returns the folder of a policy. */
  folderOf(policy: string): string;
  /** Computes prompts, texts and log-probabilities of answers with the trainer. */
  scored(answers: Served[]): Promise<{ promptIds: number[]; text: string; logprobs: number[] }[]>;
  /** Returns the pids of the server's child processes. */
  children(): number[];
  stop(): Promise<void>;
};

/** Trains the policies and starts a server of the given kind without loading a policy. */
export async function startServerUnderTest(kind: Kind): Promise<ServerUnderTest> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-policies-'));
  const [store, work] = [path.join(folder, 'store'), path.join(folder, 'work')];
  for (const directory of [store, work]) mkdirSync(directory);
  const output = await run(config.python, [script('make-policies.py'), store, work], { env: environment });
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
    url,
    token,
    policies: JSON.parse(output.stdout) as Record<PolicyName, string>,
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

async function untilHealthy(url: string, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    const response = await fetch(`${url}/health`).catch(() => undefined);
    if (response?.ok) return;
    await sleep(100);
  }
  throw new Error(`the policy server exited with code ${server.exitCode}; set COEVOLVE_TEST_LOG=1 to print its log`);
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
