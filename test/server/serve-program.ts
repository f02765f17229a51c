import { programInput } from '../support/run-program';
import { runServer } from './running-server';

/** Serves a database at a port until it is killed. */
const { databaseUrl, port } = programInput() as { databaseUrl: string; port: number };
runServer(databaseUrl, { port }).then(
  ({ url }) => process.stdout.write(`${url}\n`),
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  },
);
