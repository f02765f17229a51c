import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { DomainError } from '../../domain/errors';
import { memoOf } from '../../domain/campaign/memo';
import { taskQueues } from '../../domain/campaign/task-queues';
import { cellCampaign, cellsOf, type Experiment } from '../../domain/experiment/experiment';
import { endingLook, experimentWorkflowId, type ExperimentState } from '../../domain/experiment/progress';
import { cellSpec } from '../../specification/experiment/cell-spec';
import { hashAsStored, nameTaken } from '../../specification/read-spec';
import { isUnderway, type ExperimentRow } from '../../store/experiment/experiments';
import type { experiment } from '../../workflows';
import { experimentStatusQuery, extendExperimentUpdate } from '../../workflows/temporal/messages';
import type { Connections } from '../connections';
import { withTemporalDeadline } from '../campaign-run';
import { requireStartable } from '../start-campaign';
import { isExperimentOpen } from './experiment-run';

export type StartedExperiment = {
  workflowId: string;
  seeds: number;
  /** `extended`: it runs, and goes on with more seeds or with arms of an amendment. */
  outcome: 'started' | 'joined' | 'extended' | 'ended';
};

type StartOptions = {
  /** Seeds of each arm, by default as many as in the last start or, without one, in the last look. */
  seeds?: number | undefined;
  /** Called with every setting that could not be checked. */
  onUnchecked?: ((line: string) => void) | undefined;
  /** Result of `checkCells`, if it was called before. */
  checked?: CheckedArms | undefined;
};

/** Reasons for differences between repetitions (src/specification/nondeterminism.ts), by arm. */
export type CheckedArms = ReadonlyMap<string, readonly string[]>;

/**
 * Starts a frozen experiment, or joins it when it runs. One that has ended incomplete, or whose workflow is gone, goes on:
 * finished cells are found and never played again. Every check comes before the first write.
 *
 * @throws DomainError `UnknownExperiment`, `UnknownLook`, `CampaignExists`, `Stopping`, and the errors of `requireStartable`
 */
export async function startExperiment(
  connections: Connections,
  name: string,
  { seeds: wanted, onUnchecked, checked }: StartOptions = {},
): Promise<StartedExperiment> {
  const { experiments } = connections.store;
  const row = await experiments.getByName(name);
  const { looks } = row.resolved;
  const seeds = wanted ?? looks.find((look) => look === row.seeds) ?? looks.at(-1)!; // an amendment may change the looks
  requireLook(row, seeds);
  const started = { workflowId: experimentWorkflowId(name), seeds };
  if (await isExperimentOpen(connections, name))
    return joinOrExtend(connections, row, { seeds: wanted, onUnchecked, checked });
  if (await isPlayed(connections, row, seeds)) return { ...started, outcome: 'ended' };
  const nondeterminism = checked ?? (await checkCells(connections, row.resolved, seeds, onUnchecked));
  const isInterrupted = isUnderway(row);
  const begun = isInterrupted && row.seeds === seeds ? row : await experiments.begin(row.id, seeds);
  const isStarted = await startExperimentWorkflow(connections, await stateOf(connections, begun, nondeterminism));
  return { ...started, outcome: isStarted ? 'started' : 'joined' };
}

/**
 * Joins a running experiment. It plays on if more seeds are asked for than it plays, or if an amendment has added arms.
 *
 * @throws DomainError `Stopping`, and the errors of `checkCells`
 */
async function joinOrExtend(
  connections: Connections,
  { id, name, resolved }: ExperimentRow,
  { seeds: wanted, onUnchecked, checked }: StartOptions,
): Promise<StartedExperiment> {
  const workflowId = experimentWorkflowId(name);
  const handle = (await connections.temporal()).workflow.getHandle(workflowId);
  const playing = await withTemporalDeadline(connections, () => handle.query(experimentStatusQuery));
  const seeds = Math.max(wanted ?? 0, playing.seeds);
  if (seeds === playing.seeds && resolved.arms.length === playing.arms.length)
    return { workflowId, seeds, outcome: 'joined' };
  if (playing.stopping) throw endsNow(name);
  const arms = armsOf(resolved, checked ?? (await checkCells(connections, resolved, seeds, onUnchecked)));
  await connections.store.experiments.extend(id, seeds); // before the workflow, which is rebuilt from the database
  const extended = await handle.executeUpdate(extendExperimentUpdate, { args: [{ arms, seeds }] });
  if (extended.seeds === seeds && extended.arms.length === arms.length)
    return { workflowId, seeds, outcome: 'extended' };
  throw endsNow(name); // since the query
}

const endsNow = (name: string): DomainError =>
  new DomainError(
    'Stopping',
    `${name} ends after its running cells; repeat the command when \`coevolve experiment status ${name}\` shows its end`,
  );

/** Starts the workflows of experiments that Temporal does not run and that have not ended; returns their names. */
export async function restartExperiments(connections: Connections): Promise<string[]> {
  const open = (await connections.store.experiments.list()).filter(isUnderway);
  const restarted: string[] = [];
  for (const { name } of open)
    if (
      !(await isExperimentOpen(connections, name)) &&
      (await startExperiment(connections, name)).outcome === 'started'
    )
      restarted.push(name);
  return restarted;
}

/** Returns the state of an experiment's workflow from the database alone. */
async function stateOf(
  { store }: Connections,
  { id, name, resolved, seeds, status, stopped, reason, revision }: ExperimentRow,
  nondeterminism: CheckedArms,
): Promise<ExperimentState> {
  const cells = await store.experimentCells.list(id);
  return {
    experimentId: id,
    name,
    seeds: seeds!,
    concurrency: resolved.concurrency,
    futilityLook: endingLook(resolved),
    arms: armsOf(resolved, nondeterminism),
    status: status === 'paused' ? 'paused' : 'running',
    stopped,
    stopping: false,
    reason,
    revision,
    running: [],
    closed: cells.flatMap(({ arm, seed, status: ended }) =>
      ended === 'finished' ? [{ arm, seed, status: ended }] : [],
    ),
  };
}

const armsOf = ({ arms }: Experiment, nondeterminism: CheckedArms): ExperimentState['arms'] =>
  arms.map(({ name, matches }) => ({ name, matches, nondeterminism: nondeterminism.get(name) ?? [] }));

/** Returns false when the workflow is open. */
async function startExperimentWorkflow(connections: Connections, state: ExperimentState): Promise<boolean> {
  const client = await connections.temporal();
  const workflowId = experimentWorkflowId(state.name);
  try {
    await client.workflow.start<typeof experiment>('experiment', {
      workflowId,
      taskQueue: taskQueues.workflow,
      args: [state],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE', // an experiment that ended incomplete or is extended goes on
      ...memoOf(connections.config, workflowId, { weight: 1 }),
      staticSummary: `Experiment: ${state.arms.length} arms by ${state.seeds} seeds`,
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}

function requireLook({ name, resolved: { looks } }: ExperimentRow, seeds: number): void {
  if (looks.includes(seeds)) return;
  throw new DomainError(
    'UnknownLook',
    `seeds: found ${seeds}, expected ${looks.join(' or ')}, the declared looks of ${name}; other numbers need an ` +
      'amendment of the file and `coevolve experiment freeze`',
  );
}

/** Returns whether every cell has a result. */
async function isPlayed({ store }: Connections, { id, resolved }: ExperimentRow, seeds: number): Promise<boolean> {
  const cells = await store.experimentCells.list(id);
  const finished = new Set(cells.filter(({ status }) => status === 'finished').map(({ campaign }) => campaign));
  return cellsOf(resolved.arms, seeds).every((cell) => finished.has(cellCampaign(resolved.name, cell)));
}

/**
 * Checks that the names of all cells are free or taken by the same spec, and that the first cell of every arm can run here.
 *
 * @throws DomainError `CampaignExists`, and the errors of `requireStartable`
 */
export async function checkCells(
  connections: Connections,
  resolved: Experiment,
  seeds: number,
  onUnchecked?: (line: string) => void,
): Promise<CheckedArms> {
  const reasons = new Map<string, readonly string[]>();
  for (const { name: arm } of resolved.arms) {
    for (let seed = 1; seed <= seeds; seed++) {
      const spec = cellSpec(resolved, { arm, seed });
      const stored = await connections.store.campaigns.find(spec.name);
      if (!stored || stored.specHash === hashAsStored(spec, stored)) continue;
      const remedy = `delete it with \`coevolve delete ${spec.name}\`, or choose another name for the experiment`;
      throw nameTaken(stored, spec, remedy);
    }
    const first = cellSpec(resolved, { arm, seed: 1 });
    const drawsTasks = !(await connections.store.campaigns.find(first.name));
    const alone = { ...first, synthesis: { ...first.synthesis, match: null } }; // the other cell does not exist yet
    reasons.set(arm, await requireStartable(connections, alone, { drawsTasks, onUnchecked }));
  }
  return reasons;
}
