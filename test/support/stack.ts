import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Pool } from 'pg';
import { readConfig, variablesOf, type Config } from '../../src/config';
import type { CampaignState } from '../../src/domain/campaign/progress';
import { campaignWorkflowId } from '../../src/domain/campaign/ids';
import { readStackConfig, stackStatus, type ServiceName } from '../../src/stack';
import { readState } from '../../src/stack/stack-state';
import { createPool } from '../../src/store/base/pool';
import { connectClient } from '../../src/temporal/connect';
import { statusQuery } from '../../src/workflows/base/messages';

const projectRoot = path.resolve(__dirname, '../..');
const program = path.join(projectRoot, 'dist', 'cli', 'main.js');

export type Ran = { code: number; stdout: string; stderr: string };

/**
 * Runs the built command line as a user does: in a separate process, without the caller's environment.
 *
 * @param variables added to those of the configuration
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
  /** What a person's environment would say. */
  bare: Config;
  /** With the addresses of what runs. */
  config: Config;
  pool: Pool;
  client: Client;
  /** Runs a command. */
  cli(...args: string[]): Promise<Ran>;
  /** Runs a command with --json and returns what it printed; throws with its talk when it failed. */
  json<T>(...args: string[]): Promise<T>;
  /** Where a campaign is, asked without a process for each question: for tests that ask again and again. */
  status(name: string): Promise<CampaignState>;
  /** Writes a spec to a file, since that is what `start` takes. */
  specFile(spec: { name: string } & Record<string, unknown>): string;
  /** Pid of a running service. */
  pidOf(service: ServiceName): number;
  /** Ends everything and removes it. */
  remove(): Promise<void>;
};

/**
 * A whole stack of its own for one test file, in an empty home, brought up by the built command line.
 *
 * @param providers the file of the language models' providers, as a person writes it
 * @param supervised whether what dies is started again; otherwise a test that kills finds it dead
 */
export async function bringUpStack(label: string, providers?: object, { supervised = false } = {}): Promise<TestStack> {
  const parent = path.join(projectRoot, '.coevolve');
  mkdirSync(parent, { recursive: true });
  const home = mkdtempSync(path.join(parent, `test-${label}-`));
  const { PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = process.env;
  const providersFile = path.join(home, 'providers.yaml');
  if (providers) writeFileSync(providersFile, JSON.stringify(providers)); // JSON is YAML
  const bare = readConfig({
    ...{ PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN, COEVOLVE_HOME: home },
    ...(providers ? { COEVOLVE_LLM_PROVIDERS: providersFile } : {}),
  });
  const cli = (...args: string[]): Promise<Ran> =>
    runCli(bare, args[0] === 'up' && !supervised ? [...args, '--unsupervised'] : args);
  const json = async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await cli(...args, '--json');
    if (code !== 0) throw new Error(`coevolve ${args.join(' ')} ended with ${code}: ${stderr}`);
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
  const config = readStackConfig(bare);
  const pool = createPool(config.databaseUrl!, 4);
  const client = await connectClient(config);
  return {
    ...{ bare, config, pool, client, cli, json },
    status: (name) => client.workflow.getHandle(campaignWorkflowId(name)).query(statusQuery),
    specFile(spec) {
      const file = path.join(home, `${spec.name}.yaml`);
      writeFileSync(file, JSON.stringify(spec)); // JSON is YAML
      return file;
    },
    pidOf: (service) => stackStatus(bare).find(({ name }) => name === service)!.pid!,
    async remove() {
      await pool.end();
      await client.connection.close();
      await removeHome();
    },
  };
}

/** Asks again until there is an answer. */
export async function until<T>(ask: () => Promise<T | false | null | undefined>, pauseMs = 50): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    await sleep(pauseMs);
  }
}
