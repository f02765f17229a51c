import { stackDown } from '../../src/stack';
import { sharedPostgres } from './database';

/** Jest's global teardown of the projects that use the shared Postgres. */
export default async function stopPostgres(): Promise<void> {
  await stackDown(sharedPostgres);
}
