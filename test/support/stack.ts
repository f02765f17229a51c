import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError, type Client } from '@temporalio/client';
import type { Pool } from 'pg';
import { readConfig, variablesOf, type Config } from '../../src/config';
import type { CampaignState } from '../../src/domain/campaign/progress';
import { campaignWorkflowId } from '../../src/domain/campaign/ids';
import { readStackConfig, stackStatus, type ServiceName } from '../../src/stack';
import { readState } from '../../src/stack/stack-state';
import { createPool } from '../../src/store/database/pool';
import { connectClient } from '../../src/temporal/connect';
import { statusQuery } from '../../src/workflows/temporal/messages';
import { trainerServer } from './trainer-server';

const projectRoot = path.resolve(__dirname, '../..');
const program = path.join(projectRoot, 'dist', 'cli', 'main.js');

/**
 * Timeout of the tests that run a whole stack. It only ends a test that hangs: these tests wait for conditions, and a busy
 * machine may need several times as long as an idle one.
 */
export const hangTimeoutMs = 1_800_000;

export type Ran = { code: number; stdout: string; stderr: string };

/**
 * Runs the built command line as a user does: in a separate process, without the caller's environment.
 *
 * @param variables added to the configuration
 */
export const runCli = (config: Config, args: readonly string[], variables: Record<string, string> = {}): Promise<Ran> =>
  runNode(config, [program, ...args], variables);

/** Runs a tool of the source tree, such as the chaos runner, in a separate process. */
export const runTool = (config: Config, tool: string, args: readonly string[]): Promise<Ran> =>
  runNode(config, ['-r', path.join(projectRoot, 'tools/typescript-hook.cjs'), path.join(projectRoot, tool), ...args]);

function runNode(config: Config, args: readonly string[], variables: Record<string, string> = {}): Promise<Ran> {
  const env = { PATH: config.searchPath, ...variablesOf(config), ...variables };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });
}

export type TestStack = {
  /** Configuration of the home, without addresses of services. */
  bare: Config;
  /** Configuration with the addresses of the running services. */
  config: Config;
  pool: Pool;
  client: Client;
  /** Runs a command of the CLI. */
  cli(...args: string[]): Promise<Ran>;
  /** Runs a command with --json and returns the printed value; throws with its stderr when it fails. */
  json<T>(...args: string[]): Promise<T>;
  /** Queries a campaign's state from its workflow, without a CLI process, for tests that poll. */
  status(name: string): Promise<CampaignState>;
  /**
   * Follows a campaign with `status --watch` until its workflow has closed, which is after its last write. The database
   * and the query show the final status earlier.
   */
  waitForEnd(name: string): Promise<void>;
  /** Writes a spec to a file for `start`. */
  specFile(spec: { name: string } & Record<string, unknown>): string;
  /** Pid of a running service. */
  pidOf(service: ServiceName): number;
  /** Suspends a service until the returned function is called, so that no campaign gets past it meanwhile. */
  suspend(service: ServiceName): () => void;
  /** Stops all services and removes the home. */
  remove(): Promise<void>;
};

/**
 * Starts a whole stack in an empty home with the built command line, for one test file.
 *
 * @param providers contents of the file with the providers of language models
 * @param supervised restarts crashed services
 * @param variables further settings of the stack
 */
export async function bringUpStack(
  label: string,
  providers?: object,
  { supervised = false, variables = {} }: { supervised?: boolean; variables?: Record<string, string> } = {},
): Promise<TestStack> {
  const parent = path.join(projectRoot, '.coevolve');
  mkdirSync(parent, { recursive: true });
  const home = mkdtempSync(path.join(parent, `test-${label}-`));
  const { PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = process.env;
  const providersFile = path.join(home, 'providers.yaml');
  if (providers) writeFileSync(providersFile, JSON.stringify(providers)); // JSON is YAML
  const bare = readConfig({
    PATH,
    COEVOLVE_PYTHON,
    COEVOLVE_TEMPORAL_BIN,
    COEVOLVE_HOME: home,
    COEVOLVE_TRAINER_SERVER: trainerServer,
    ...(providers ? { COEVOLVE_LLM_PROVIDERS: providersFile } : {}),
    ...variables,
  });
  const cli = (...args: string[]): Promise<Ran> =>
    runCli(bare, args[0] === 'up' && !supervised ? [...args, '--unsupervised'] : args);
  const json = async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await cli(...args, '--json');
    if (code !== 0) throw new Error(`coevolve ${args.join(' ')} exited with code ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  };
  const removeHome = async (): Promise<void> => {
    await cli('down');
    const { postgresDirectory } = readState(home); // outside the home when Postgres's user cannot reach into it
    for (const folder of [postgresDirectory, home]) if (folder) rmSync(folder, { recursive: true, force: true });
  };

  await json('up').catch(async (error: unknown) => {
    await removeHome();
    throw error;
  });
  const pidOf = (service: ServiceName): number => stackStatus(bare).find(({ name }) => name === service)!.pid!;
  const config = readStackConfig(bare);
  const pool = createPool(config.databaseUrl!, 4);
  const client = await connectClient(config);
  return {
    bare,
    config,
    pool,
    client,
    cli,
    json,
    status: (name) => client.workflow.getHandle(campaignWorkflowId(name)).query(statusQuery),
    async waitForEnd(name) {
      const { code, stderr } = await cli('status', name, '--watch');
      if (code !== 0) throw new Error(`coevolve status ${name} --watch exited with code ${code}: ${stderr}`);
      await client.workflow
        .getHandle(campaignWorkflowId(name))
        .result()
        .catch((error: unknown) => {
          if (!(error instanceof WorkflowFailedError)) throw error; // aborted and given-up campaigns do not complete
        });
    },
    specFile(spec) {
      const file = path.join(home, `${spec.name}.yaml`);
      writeFileSync(file, JSON.stringify(spec)); // JSON is YAML
      return file;
    },
    pidOf,
    suspend(service) {
      const pid = pidOf(service);
      process.kill(pid, 'SIGSTOP');
      return () => process.kill(pid, 'SIGCONT');
    },
    async remove() {
      await pool.end();
      await client.connection.close();
      await removeHome();
    },
  };
}

/** Polls a condition until its value is truthy and returns the value; only the timeout of the test limits the wait. */
export async function until<T>(condition: () => Promise<T | false | null | undefined>, pauseMs = 50): Promise<T> {
  for (;;) {
    const value = await condition();
    if (value) return value;
    await sleep(pauseMs);
  }
}
