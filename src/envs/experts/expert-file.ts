import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ArtifactStore } from '../../artifacts/artifact-store';
import { DomainError } from '../../domain/errors';
import { parseJson } from '../../input/parse-json';

const expertRow = z.object({
  environment: z.string(),
  task_id: z.string(),
  actions: z.array(z.string()).min(1),
  reward: z.number().nullable(),
  claimed_reward: z.number().nullable(),
  replayed: z.boolean(),
});

/** Actions of an expert at one task. `reward` was measured by the replay, or is the claimed one if there was no replay. */
export type ImportedExpert = z.infer<typeof expertRow>;

/** Stores experts under the hash of their lines; a spec names them by it as `environment.experts`. */
export const saveExperts = (
  artifacts: Pick<ArtifactStore, 'saveDataset'>,
  experts: readonly ImportedExpert[],
): Promise<{ sha256: string; path: string }> =>
  artifacts.saveDataset([...experts].sort(byTask).map((expert) => JSON.stringify(expertRow.parse(expert))));

/**
 * Loads the experts that a spec names, by task id.
 *
 * @throws DomainError `UnknownExperts` when no intact file is stored under the hash; `WrongEnvironment` when they are experts
 *   of another environment
 */
export async function loadExperts(
  artifacts: Pick<ArtifactStore, 'datasetPath'>,
  sha256: string,
  environment: string,
): Promise<ReadonlyMap<string, ImportedExpert>> {
  const text = await readFile(artifacts.datasetPath(sha256), 'utf8').catch(() => undefined);
  const isIntact = text !== undefined && createHash('sha256').update(text).digest('hex') === sha256;
  const rows = isIntact
    ? text
        .trimEnd()
        .split('\n')
        .map((line) => expertRow.safeParse(parseJson(line)))
    : [];
  if (rows.length === 0 || rows.some(({ success }) => !success))
    throw new DomainError(
      'UnknownExperts',
      `environment.experts: no imported experts are stored as ${sha256}; \`coevolve experts import <file> --environment ${environment}\` prints the hash of the stored file`,
    );
  const experts = rows.map(({ data }) => data!);
  const other = experts.find((expert) => expert.environment !== environment);
  if (other)
    throw new DomainError(
      'WrongEnvironment',
      `environment.experts: found experts of ${other.environment}, expected experts of the spec's environment ${environment}; import them with \`coevolve experts import <file> --environment ${environment}\``,
    );
  return new Map(experts.map((expert) => [expert.task_id, expert]));
}

const byTask = (a: ImportedExpert, b: ImportedExpert): number => (a.task_id < b.task_id ? -1 : 1);
