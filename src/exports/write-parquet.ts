import type { Config } from '../config';
import { required } from '../errors/errors';
import { runExports, type WrittenFile } from './run-exports';

type ParquetFiles = {
  folder: string;
  /** Read in one snapshot. `path`: name in the folder, with `{}` where files of a query have a number. */
  queries: readonly { path: string; query: string; meanings: Record<string, string> }[];
  /** Files of JSON lines, and the path of each one's Parquet file. */
  lines?: Record<string, string>;
};

/** The hub shows files of some hundred MB well. */
const maxFileBytes = 400 * 2 ** 20;

/** Writes rows as Parquet, with the types of the database. Only a batch of them is in memory at once. */
export const writeParquet = (config: Config, { folder, queries, lines = {} }: ParquetFiles): Promise<WrittenFile[]> =>
  runExports(config, 'parquet', [
    JSON.stringify({
      url: required(config.databaseUrl, 'database', 'DATABASE_URL'),
      folder,
      queries,
      lines,
      max_file_bytes: maxFileBytes,
    }),
  ]);
