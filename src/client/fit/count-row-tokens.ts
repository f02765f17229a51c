import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { Config } from '../../config';
import { readingOf, withFunctionsFor } from '../../domain/rollout/reading';
import type { RowLength } from '../../domain/training/row-lengths';
import { conversationWithFunctions, type ReferenceTrajectory } from '../../envs/experts/reference-trajectories';
import type { CampaignSpec } from '../../specification/campaign-spec';

const lengths = z.array(
  z.object({ tokens: z.int(), actionEnds: z.array(z.int()), actionTokens: z.array(z.int()) }),
) satisfies z.ZodType<RowLength[]>;

const timeoutMs = 20_000;

/**
 * Counts the tokens of trajectories as the trainer does, with the tokenizer of a policy, or with one that it trains on them.
 * Returns null if the trainer is not installed here or cannot read them.
 *
 * @param policyPath folder of the policy; null for one from scratch
 */
export async function countRowTokens(
  { python, projectRoot }: Pick<Config, 'python' | 'projectRoot'>,
  spec: CampaignSpec,
  policyPath: string | null,
  played: readonly ReferenceTrajectory[],
): Promise<RowLength[] | null> {
  const { functions } = readingOf(spec);
  const request = {
    policy: policyPath,
    vocabulary_size: spec.training.init.vocabularySize,
    trajectories: played.map((one) => withFunctionsFor(conversationWithFunctions(one), functions)),
  };
  const child = spawn(python, ['-m', 'coevolve_trainer', 'lengths'], {
    cwd: projectRoot,
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: timeoutMs,
  });
  child.once('error', () => undefined); // without Python the answer is empty
  child.stdin.once('error', () => undefined);
  child.stdin.end(JSON.stringify(request));
  const answer = await text(child.stdout).catch(() => '');
  try {
    return lengths.parse(JSON.parse(answer));
  } catch {
    return null;
  }
}
