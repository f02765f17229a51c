import { Context } from '@temporalio/activity';
import { isGrpcDeadlineError, WorkflowFailedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { activityNames, type Activities } from '../../src/activities';
import type { CampaignState } from '../../src/domain/campaign/progress';
import type { RecipeName } from '../../src/domain/campaign/recipe';
import type { campaign } from '../../src/workflows';
import type { CampaignCommandName } from '../../src/domain/campaign/operator-commands';
import { campaignUpdates, statusQuery } from '../../src/workflows/temporal/messages';
import { until } from '../support/stack';
import { startTemporal } from '../support/temporal';
import { queues, stateOf, type Script } from './scripted-activities';

export type CommandName = CampaignCommandName;

/**
 * `from`: the first iteration, default 0. `abortedBy`: operator who aborted the campaign before this start. `campaignId`: of its
 * row, if there is one.
 */
export type Plan = {
  recipe: RecipeName;
  iterations: number;
  from?: number;
  abortedBy?: string;
  campaignId?: number;
};
export type Handle = WorkflowHandle<typeof campaign>;

export type ScriptedCampaigns = {
  client: Client;
  handleOf(name: string): Handle;
  start(name: string, plan: Plan, script: Script): Promise<Handle>;
  /** Waits until the workflow of a campaign has closed in any way and returns its final state. */
  ended(name: string): Promise<CampaignState>;
  /** Starts a campaign and waits for its end. */
  run(name: string, plan: Plan, script: Script, during?: () => Promise<void>): Promise<CampaignState>;
  status(name: string): Promise<CampaignState>;
  /** Waits until the campaign is parked. */
  parked(name: string): Promise<CampaignState>;
  send(name: string, command: CommandName, reason?: string): Promise<CampaignState>;
  remove(): Promise<void>;
};

/** Starts a Temporal server and one set of workers that run the script of each campaign. */
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
  let stopWorkers!: () => void;
  const stopped = new Promise<void>((resolve) => (stopWorkers = resolve));
  const working = temporal.withWorkers(queues, activities, () => stopped);

  const handleOf = (name: string): Handle => temporal.client.workflow.getHandle<typeof campaign>(`campaign/${name}`);
  const status = (name: string): Promise<CampaignState> =>
    until(() =>
      handleOf(name)
        .query(statusQuery)
        .catch((error: unknown) => {
          // A worker with many campaigns on a busy machine may need longer than the 10 s that a query has
          if (isGrpcDeadlineError(error)) return null;
          throw error;
        }),
    );
  const start: ScriptedCampaigns['start'] = (name, { recipe, iterations, from = 0, ...changes }, script) => {
    scripts.set(name, script);
    const state = stateOf(name, recipe, iterations);
    return temporal.client.workflow.start<typeof campaign>('campaign', {
      workflowId: `campaign/${name}`,
      taskQueue: 'workflow',
      args: [{ ...state, ...changes, progress: { ...state.progress, iteration: from } }],
    });
  };
  const ended = (name: string): Promise<CampaignState> =>
    handleOf(name)
      .result()
      .catch((error: unknown) => {
        if (error instanceof WorkflowFailedError) return status(name); // aborted or given up
        throw error;
      });
  return {
    client: temporal.client,
    handleOf,
    status,
    start,
    ended,
    async run(name, plan, script, during) {
      await start(name, plan, script);
      await during?.();
      return ended(name);
    },
    parked: (name) =>
      until(async () => {
        const state = await status(name);
        return state.progress.parked !== null && state;
      }),
    send: (name, command, reason) =>
      handleOf(name).executeUpdate(campaignUpdates[command], {
        args: [{ actor: 'ada', ...(reason ? { reason } : {}) }],
      }),
    async remove() {
      stopWorkers();
      await working;
      await temporal.remove();
    },
  };
}
