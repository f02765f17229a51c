import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { ArtifactStore } from '../../artifacts/artifact-store';
import { requireFreeName, requireModelName, saveModel, type ImportedModel } from '../../artifacts/imported-models';
import type { Config } from '../../config';
import { DomainError } from '../../domain/errors';

const run = promisify(execFile);

const imported = z.object({
  policy_hash: z.string().regex(/^[0-9a-f]{64}$/),
  source: z.record(z.string(), z.string()),
  license: z.string(),
  chat_format: z.string(),
  tools: z.boolean(),
  architecture: z.string(),
  parameters: z.number().int(),
  weights: z.string(),
  notes: z.array(z.string()),
});

export type ImportChoices = { name: string; weights: string; chatFormat?: string; foldSystem?: boolean };

/**
 * Converts a pretrained model to a policy with the trainer's Python and stores it under its hash and its name. A model
 * whose name is taken leaves nothing.
 *
 * @param source a GGUF file, a folder, `package:<name>`, or `<owner>/<name>` of a hub
 * @throws DomainError `ImportFailed` with the value found and the value expected; `InvalidName`; `ModelExists`
 */
export async function importModel(
  { python, projectRoot }: Pick<Config, 'python' | 'projectRoot'>,
  artifacts: ArtifactStore,
  source: string,
  { name, weights, chatFormat, foldSystem = false }: ImportChoices,
): Promise<ImportedModel> {
  requireModelName(name);
  const id = randomUUID();
  const output = artifacts.importPath(id);
  const format = [
    ...(chatFormat === undefined ? [] : ['--chat-format', chatFormat]),
    ...(foldSystem ? ['--fold-system'] : []),
  ];
  const args = ['-m', 'coevolve_trainer.models.import_model', source, '--output', output, '--weights', weights];
  try {
    const { stdout } = await run(python, [...args, ...format]).catch((error: unknown) => {
      throw new DomainError('ImportFailed', reasonOf(error, projectRoot));
    });
    const facts = imported.parse(JSON.parse(stdout));
    const model = {
      name,
      policyId: facts.policy_hash,
      source: facts.source,
      license: facts.license,
      chatFormat: facts.chat_format,
      tools: facts.tools,
      architecture: facts.architecture,
      parameters: facts.parameters,
      weights: facts.weights,
      notes: facts.notes,
    };
    await requireFreeName(artifacts, model);
    await artifacts.adoptPolicy(output, model.policyId);
    await saveModel(artifacts, model);
    return model;
  } finally {
    // After a failure, or if the policy already exists, the files of the import remain.
    for (const leftover of [output, join(dirname(output), `.${id}.staging`)])
      await rm(leftover, { recursive: true, force: true });
  }
}

/** Returns the last line of stderr, which contains the problem; Python without the trainer prints none. */
function reasonOf(error: unknown, projectRoot: string): string {
  const { stderr = '', code } = error as { stderr?: string; code?: string | number };
  if (code === 'ENOENT') return `no Python with the trainer: run \`npm run setup\` in ${projectRoot}`;
  return stderr.trim().split('\n').at(-1) || String(error);
}
