import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { stackStatus } from '../../../src/stack';
import type { Load } from '../load';
import type { BenchStack } from '../stack';
import { countTransactions } from './transactions';
import { startProgram, type Program } from './program';
import { countResults, type Results, type System } from './system';

const database = 'dbos_bench';
const pollMs = 100;

/** Starts a worker of DBOS, with a separate database in the Postgres server of the stack. */
export async function startDbos(
  { servers, places, turns }: Load,
  python: string,
  { bare, config }: BenchStack,
): Promise<System> {
  const url = new URL(config.databaseUrl!);
  url.pathname = database;
  const postgres = stackStatus(bare).find(({ name }) => name === 'postgres')!;
  const file = path.join(__dirname, '..', 'dbos_worker.py');
  const dbosUrl = url.href.replace('postgres:', 'postgresql:'); // the name that SQLAlchemy knows
  const start = (): Promise<Program> =>
    startProgram(python, [file, servers.environmentUrl, servers.policyUrl, places, turns, dbosUrl]);
  let program = await start(); // creates the database
  const pool = new Pool({ connectionString: url.href, max: 1 });
  let polls = 0;

  return {
    processes: () =>
      new Map([
        [program.pid, 'dbos worker'],
        [postgres.pid!, postgres.name],
      ]),
    transactions: async () => (await countTransactions(pool)) - polls,

    /** Counts ended workflows in the database: a handle for each would send a query per workflow and second. */
    async play(attempts) {
      const run = randomUUID();
      const startedAt = Date.now();
      await program.ask({ run, attempts });
      for (;;) {
        polls++;
        const { ended, failed, last } = await readProgress(pool, run);
        if (failed > 0) throw new Error(`${failed} workflows of DBOS failed`);
        if (ended === attempts) return { seconds: (last - startedAt) / 1000, results: await readResults(program, run) };
        await sleep(pollMs);
      }
    },

    async kill() {
      await program.kill();
      program = await start();
    },

    async stop() {
      await program.kill();
      await pool.end();
    },
  };
}

type Progress = { ended: number; failed: number; last: number };

/** `last` is the time at which the last workflow ended until now, so that polling adds nothing to the seconds. */
async function readProgress(pool: Pool, run: string): Promise<Progress> {
  const { rows } = await pool.query<Progress>(
    `select count(*) filter (where status = 'SUCCESS')::integer as ended,
            count(*) filter (where status not in ('SUCCESS', 'PENDING', 'ENQUEUED'))::integer as failed,
            coalesce(max(completed_at), 0)::float8 as last
     from dbos.workflow_status
     where workflow_uuid like $1::text || '-%'`,
    [run],
  );
  return rows[0]!;
}

async function readResults(program: Program, run: string): Promise<Results> {
  const { ids, rewards } = await program.ask<{ ids: string[]; rewards: number[] }>({ results: run });
  return countResults(ids, rewards);
}
