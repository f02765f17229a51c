import { mirror } from '../../src/exports/mirror';
import type { Tracker } from '../../src/exports/tracker-process';
import { createReaderPool } from '../../src/store/reporting/reader-pool';
import { programInput } from '../support/run-program';

/** Mirrors a database until it is killed, or until SIGTERM. */
const { databaseUrl, projectRoot, tracker, folder } = programInput() as {
  databaseUrl: string;
  projectRoot: string;
  tracker: Tracker;
  folder: string;
};
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

async function run(): Promise<void> {
  const reader = await createReaderPool(databaseUrl, { max: 1, timeoutMs: 60_000 });
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const written = await mirror(
    reader,
    { projectRoot },
    { tracker, folder, campaigns: [], once: false, signal: stop.signal, log },
  );
  process.stdout.write(`${written}\n`);
  await reader.end();
}

run().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
