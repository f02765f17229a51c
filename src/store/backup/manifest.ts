import { sha256 } from '../../files/sha256';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../input/parse-json';
import { DomainError } from '../../domain/errors';

/** Names that stay below the folder of their path. */
const isPlainName = (part: string): boolean => !['', '.', '..'].includes(part) && !/[\\\p{Cc}]/u.test(part);

const file = z.strictObject({
  /** Path in the backup, or of an artifact in the artifacts' folder. */
  path: z.string().refine((path) => path.split('/').every(isPlainName)),
  bytes: z.number().int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const name = z.string().regex(/^[a-z][a-z0-9_]*$/);

const postgresId = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

const manifestSchema = z.strictObject({
  format: z.literal(1),
  takenAt: z.string(),
  /** Applied migrations in order. */
  migrations: z.array(z.string()),
  tables: z.array(z.strictObject({ name, columns: z.array(name), rows: z.int().min(0), file })),
  /** Last value of each sequence. */
  sequences: z.array(z.strictObject({ name, value: z.number().int() })),
  campaigns: z.array(z.strictObject({ id: postgresId, name: z.string(), status: z.string() })),
  /** Folder of the artifacts at the time of the backup; rows contain paths below it. */
  artifactsRoot: z.string(),
  /** Artifacts that rows refer to; `copied`: the backup contains them below `artifacts/`. */
  artifacts: z.strictObject({ copied: z.boolean(), files: z.array(file), missing: z.array(z.string()) }),
});

export type BackupManifest = z.infer<typeof manifestSchema>;
export type BackupFile = z.infer<typeof file>;

export const manifestFile = 'manifest.json';

/** Returns the manifest as text; its last line is the sha256 of the lines before it. */
export function manifestText(manifest: BackupManifest): string {
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  return `${text}${sha256(text)}\n`;
}

/** @throws DomainError `InvalidBackup` when the manifest is missing, truncated or changed */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readFile(join(folder, manifestFile), 'utf8').catch(() => {
    throw invalidBackup(folder, `${manifestFile} is missing; \`coevolve backup <folder>\` creates a backup`);
  });
  const end = text.lastIndexOf('\n', text.length - 2) + 1;
  if (text.slice(end) !== `${sha256(text.slice(0, end))}\n`)
    throw invalidBackup(folder, `${manifestFile} is truncated or was changed; create another backup`);
  const parsed = manifestSchema.safeParse(parseJson(text.slice(0, end)));
  if (parsed.success) return parsed.data;
  throw invalidBackup(folder, `${manifestFile} was written by another version of coevolve; restore with that version`);
}

export const invalidBackup = (folder: string, problem: string): DomainError =>
  new DomainError('InvalidBackup', `${folder}: ${problem}`);
