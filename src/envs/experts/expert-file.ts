import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ArtifactStore } from '../../artifacts/artifact-store';
import { DomainError } from '../../domain/base/errors';
import { parseJson } from '../../base/parse-json';

const row = z.object({
  environment: z.string(),
  task_id: z.string(),
  actions: z.array(z.string()).min(1),
  reward: z.number().nullable(),
  claimed_reward: z.number().nullable(),
  replayed: z.boolean(),
});

/** An expert's actions at one task. `reward` is the replay's, or what the file claimed where there was no replay. */
export type ImportedExpert = z.infer<typeof row>;

/** Stores experts under the hash of their lines: a spec names it as `environment.experts`. */
export const saveExperts = (
  artifacts: Pick<ArtifactStore, 'saveDataset'>,
  experts: readonly ImportedExpert[],
): Promise<{ sha256: string; path: string }> =>
  artifacts.saveDataset([...experts].sort(byTask).map((expert) => JSON.stringify(row.parse(expert))));

/**
 * The experts that a spec names, by task.
 *
 * @throws DomainError `UnknownExperts`, when nothing whole is stored under that hash; `ForeignExperts`, when they are of
 *   another environment
 */
export async function loadExperts(
  artifacts: Pick<ArtifactStore, 'datasetPath'>,
  sha256: string,
  environment: string,
): Promise<ReadonlyMap<string, ImportedExpert>> {
  const text = await readFile(artifacts.datasetPath(sha256), 'utf8').catch(() => undefined);
  const whole = text !== undefined && createHash('sha256').update(text).digest('hex') === sha256;
  const rows = whole
    ? text
        .trimEnd()
        .split('\n')
        .map((line) => row.safeParse(parseJson(line)))
    : [];
  if (rows.length === 0 || rows.some(({ success }) => !success))
    throw new DomainError(
      'UnknownExperts',
      `environment.experts: no imported experts are stored as ${sha256}; \`coevolve experts import <file> --environment ${environment}\` prints the hash of what it stored`,
    );
  const experts = rows.map(({ data }) => data!);
  const other = experts.find((expert) => expert.environment !== environment);
  if (other)
    throw new DomainError(
      'ForeignExperts',
      `environment.experts: these are experts of ${other.environment}, the spec's environment is ${environment}; import them with \`coevolve experts import <file> --environment ${environment}\``,
    );
  return new Map(experts.map((expert) => [expert.task_id, expert]));
}

const byTask = (one: ImportedExpert, other: ImportedExpert): number => (one.task_id < other.task_id ? -1 : 1);
