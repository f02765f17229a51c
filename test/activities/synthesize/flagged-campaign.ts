import { attemptPlaces } from '../../../src/activities/context/attempt-places';
import type { Pool } from 'pg';
import { randomUUID } from 'node:crypto';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { seedTasks } from '../../../src/activities/plan/seed-tasks';
import type { FeedbackSignalKind } from '../../../src/domain/signals/feedback-signal';
import { environmentData } from '../../../src/envs/server/environment-data';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { playEpisode } from '../../../src/envs/episode/play-episode';
import { createModelService } from '../../../src/llm/model-service';
import type { CampaignSpec } from '../../../src/specification/campaign-spec';
import { campaignOf } from '../../../src/specification/read-spec';
import { createStore } from '../../../src/store';
import type { IterationKey } from '../../../src/store/database/epoch';
import type { TaskRow } from '../../../src/store/tasks/tasks';
import type { EnvironmentServer } from '../../support/environment-server';
import { scriptedProviders, specWithModels } from '../../support/models/scripted-provider';
import { addPolicy, attempt, hash } from '../../store/support/new-campaign';
import { inActivity } from '../context/in-activity';

export type FlaggedCampaign = { services: Dependencies; key: IterationKey; spec: CampaignSpec; pool: Pool };

type Servers = { pool: Pool; environment: EnvironmentServer; modelUrl: string };

/** Actions of a flagged attempt: a failing query, a wrong query, and the submission. */
const flaggedActions = ['select nothing_of_this_name', 'select -1', 'submit'];

/**
 * Creates a campaign in iteration 1 with real seed tasks. Its policy has failed at `flagged` of them, each failure was
 * played in the real environment, and every signal flags it. It also failed at `unflagged` others without a signal.
 */
export async function flaggedCampaign(
  { pool, environment, modelUrl }: Servers,
  { flagged = 2, unflagged = 0, ...changes }: { flagged?: number; unflagged?: number; [key: string]: unknown } = {},
): Promise<FlaggedCampaign> {
  const store = createStore(pool);
  const name = `explored-${randomUUID()}`;
  const spec = specWithModels(name, {
    environment: { name: 'intercode-sql', trainTasks: 6, heldOutTasks: 2 },
    ...changes,
  });
  const { id: campaignId } = await store.campaigns.save(campaignOf(spec));
  const services = {
    store,
    environmentData: environmentData(environment),
    openEnvironment: openEnvClient(environment),
    models: createModelService({ store, providers: scriptedProviders(modelUrl) }),
  } as Partial<Dependencies> as Dependencies;
  services.places = attemptPlaces(services);
  const start = { campaignId, iteration: 0, epoch: await store.iterations.open(campaignId, 0) };
  await inActivity(() => seedTasks(services)(start));
  const key = { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  const policyId = await addPolicy({ store, pool, campaignId, name, key }, { id: hash('a') });
  const tasks = (await store.tasks.list(campaignId, { split: 'train' })).slice(0, flagged + unflagged);
  const failures: { task: TaskRow; trajectoryId: string }[] = [];
  for (const task of tasks) failures.push({ task, trajectoryId: await playFailure(services, key, task, policyId) });
  const kinds: FeedbackSignalKind[] = ['forgetting', 'boundary', 'rare'];
  await store.feedbackSignals.save(
    key,
    kinds.flatMap((kind) =>
      failures.slice(0, flagged).map(({ task, trajectoryId }) => ({
        kind,
        taskId: task.id,
        trajectoryId,
        strength: 1,
        detail: { reward: 0 },
      })),
    ),
  );
  return { services, key, spec, pool };
}

async function playFailure(
  services: Dependencies,
  key: IterationKey,
  task: TaskRow,
  policyId: string,
): Promise<string> {
  const session = await services.openEnvironment(task.environment, { signal: new AbortController().signal });
  const request = { task: task.definition, seed: 1, episodeId: 'flagged' };
  const play = (_: unknown, step: number) => Promise.resolve(flaggedActions[step] ?? null);
  const episode = await playEpisode(session, request, play, flaggedActions.length);
  session.close();
  const { reward, rawScore, stopReason, opening, turns } = episode;
  const played = { purpose: 'train', policyId, reward, rawScore, stopReason, opening, turns } as const;
  return (await services.store.trajectories.save(attempt(key, { taskId: task.id, ...played }))).id;
}
