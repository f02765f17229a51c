import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig, type Config } from '../../src/config';
import { findProcess } from '../../src/process/processes';
import { stackDown, stackUp, type ServiceName } from '../../src/stack';
import { workersWithNumber } from '../../src/stack/node-services';
import { readState } from '../../src/stack/stack-state';
import { startService } from '../../src/stack/start-service';
import { migrate } from '../../src/store/database/migrate';
import type { Load } from './load';
import { environment } from './systems/evaluation-plan';

export type BenchStack = {
  /** Before its services were started: they are the stack's own. */
  bare: Config;
  /** With the addresses of the services. */
  config: Config;
  /** Ids of the rollout workers. */
  workers: number[];
};

/** Services of coevolve's rollouts beside their workers. */
const servicesOfRollouts: ServiceName[] = ['postgres', 'temporal', 'worker-workflow', 'supervisor'];

/**
 * Runs `work` with an embedded stack, and removes it.
 *
 * @param workers rollout workers, which share the places; with 0 the stack is only a Postgres server
 */
export async function withStack(
  load: Load,
  workers: number,
  work: (stack: BenchStack) => Promise<void>,
): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'coevolve-bench-'));
  const bare = configOf(home, load, Math.max(1, workers));
  const rolloutWorkers = Array.from({ length: workers }, (_, n) =>
    workersWithNumber(n + 1).find(({ name }) => name.startsWith('worker-rollout'))!,
  );
  try {
    const config = await stackUp(bare, {
      services: workers > 0 ? servicesOfRollouts : ['postgres'],
      beforeClients: async ({ databaseUrl, projectRoot }) => void (await migrate(databaseUrl!, projectRoot)),
    });
    for (const worker of rolloutWorkers)
      await startService({ config: bare, state: readState(home) }, worker, () => undefined);
    const names = rolloutWorkers.map(({ name }) => name);
    await work({ bare, config, workers: names.map((name) => findProcess(home, name)!.pid) });
  } finally {
    await stackDown(bare);
    rmSync(home, { recursive: true, force: true });
  }
}

function configOf(home: string, { servers, places, turns }: Load, workers: number): Config {
  const environments = path.join(home, 'environments.json');
  // Without `replay` coevolve has no journal of turns, and plays an interrupted attempt from its start.
  const server = { url: servers.environmentUrl, action: 'text', sessions: places, maxTurns: turns };
  const settings = { servers: { [environment]: { ...server, replay: 'observations' } } };
  writeFileSync(environments, JSON.stringify(settings));
  return readConfig({
    PATH: process.env['PATH'],
    COEVOLVE_RECOVERY: process.env['COEVOLVE_RECOVERY'],
    COEVOLVE_HOME: home,
    COEVOLVE_ENVIRONMENTS_FILE: environments,
    COEVOLVE_ENVIRONMENT_URL: servers.environmentUrl,
    COEVOLVE_POLICY_URL: servers.policyUrl,
    COEVOLVE_ATTEMPTS: String(places / workers),
  });
}
