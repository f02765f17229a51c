import { z } from 'zod';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import { callServer } from '../server/call-server';
import type { EnvironmentEndpoint } from '../server/endpoint';
import type { ActionForm } from '../../domain/rollout/action-form';

export type ReferenceRequest = {
  split: TaskSplit;
  /** Tasks that are drawn and played. */
  count: number;
  seed: number;
  options: Record<string, unknown>;
  form: ActionForm;
};

const trajectory = z.object({
  task_id: z.string(),
  pattern: z.string(),
  conversation: z.array(z.object({ role: z.string(), content: z.string() })),
  reward: z.number(),
  turns: z.number(),
  characters: z.number(),
});

/** An expert's episode as it really went: `reward` is in [0, 1], `characters` are those of all messages. */
export type ReferenceTrajectory = z.infer<typeof trajectory>;

const answer = z.object({ trajectories: z.array(trajectory) });

const atOnce = 10; // a slow engine plays that many within the deadline of one request

/**
 * The reference actions of drawn tasks, played by our environment server in the environment itself.
 *
 * @throws EnvironmentError `refused` when the environment has no gold, or the server no token
 */
export async function playReferenceActions(
  endpoint: EnvironmentEndpoint,
  environment: string,
  request: ReferenceRequest,
  onPlayed: (done: number) => void = () => undefined,
): Promise<ReferenceTrajectory[]> {
  const played: ReferenceTrajectory[] = [];
  for (let start = 0; start < request.count; start += atOnce) {
    const stop = Math.min(start + atOnce, request.count);
    const { trajectories } = await callServer(endpoint, `/envs/${environment}/data/gold`, answer, {
      ...{ ...request, start, stop },
    });
    played.push(...trajectories);
    onPlayed(played.length);
    if (trajectories.length < stop - start) break; // the environment has no more tasks
  }
  return played;
}
