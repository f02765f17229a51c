import { Context } from '@temporalio/activity';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { activityNames, type Activities } from '../../src/activities';
import type { CampaignState } from '../../src/domain/campaign/progress';
import type { RecipeName } from '../../src/domain/campaign/recipe';
import type { campaign } from '../../src/workflows';
import {
  abortUpdate,
  pauseUpdate,
  resumeUpdate,
  retryUpdate,
  skipUpdate,
  statusQuery,
  stopAfterIterationUpdate,
} from '../../src/workflows/base/messages';
import { until } from '../support/stack';
import { startTemporal } from '../support/temporal';
import { queues, stateOf, type Script } from './scripted-activities';

export const updates = {
  pause: pauseUpdate,
  resume: resumeUpdate,
  retry: retryUpdate,
  skip: skipUpdate,
  stop: stopAfterIterationUpdate,
  abort: abortUpdate,
};
export type Verb = keyof typeof updates;

/** `from`: the first iteration; 0 when left out. `abortedBy`: who had ordered to abort it before it was started. */
export type Plan = { recipe: RecipeName; iterations: number; from?: number; abortedBy?: string };
export type Handle = WorkflowHandle<typeof campaign>;

export type ScriptedCampaigns = {
  client: Client;
  handleOf(name: string): Handle;
  start(name: string, plan: Plan, script: Script): Promise<Handle>;
  /** Starts a campaign and waits for its end. */
  run(name: string, plan: Plan, script: Script, during?: () => Promise<void>): Promise<CampaignState>;
  status(name: string): Promise<CampaignState>;
  /** Waits until the campaign is parked. */
  parked(name: string): Promise<CampaignState>;
  order(name: string, verb: Verb, reason?: string): Promise<CampaignState>;
  remove(): Promise<void>;
};

/** A Temporal server of its own, and one set of workers that do for each campaign what its script says. */
export async function scriptedCampaigns(): Promise<ScriptedCampaigns> {
  const temporal = await startTemporal();
  const scripts = new Map<string, Script>();
  const scriptOfCaller = (): Script =>
    scripts.get(Context.current().info.workflowExecution!.workflowId.split('/')[1]!)!;
  const activities = Object.fromEntries(
    activityNames.map((name) => [
      name,
      (input: never): unknown => scriptOfCaller().activities[name as keyof Activities](input),
    ]),
  );
  let leave!: () => void;
  const left = new Promise<void>((resolve) => (leave = resolve));
  const working = temporal.withWorkers(queues, activities, () => left);

  const handleOf = (name: string): Handle => temporal.client.workflow.getHandle<typeof campaign>(`campaign/${name}`);
  const status = (name: string): Promise<CampaignState> => handleOf(name).query(statusQuery);
  const start: ScriptedCampaigns['start'] = (name, { recipe, iterations, from = 0, ...ordered }, script) => {
    scripts.set(name, script);
    const state = stateOf(name, recipe, iterations);
    return temporal.client.workflow.start<typeof campaign>('campaign', {
      workflowId: `campaign/${name}`,
      taskQueue: 'workflow',
      args: [{ ...state, ...ordered, progress: { ...state.progress, iteration: from } }],
    });
  };
  return {
    ...{ client: temporal.client, handleOf, status, start },
    async run(name, plan, script, during) {
      const handle = await start(name, plan, script);
      await during?.();
      return handle.result();
    },
    parked: (name) =>
      until(async () => {
        const state = await status(name);
        return state.progress.parked !== null && state;
      }),
    order: (name, verb, reason) =>
      handleOf(name).executeUpdate(updates[verb], { args: [{ actor: 'ada', ...(reason ? { reason } : {}) }] }),
    async remove() {
      leave();
      await working;
      await temporal.remove();
    },
  };
}
