import { setTimeout as sleep } from 'node:timers/promises';
import { cellCampaign, type CellName, cellsOf, type EffortMeasure } from '../../domain/experiment/experiment';
import { meanEffort, nominalOf } from '../../domain/experiment/effort';
import { waitingCells, type ClosedCell } from '../../domain/experiment/progress';
import { secondsLeft } from '../../domain/experiment/progress';
import type { CellRow } from '../../store/experiment/cells';
import { isUnderway, type ExperimentRow } from '../../store/experiment/experiments';
import { findRunProblem } from '../campaign-run';
import type { Connections } from '../connections';
import { isExperimentOpen, notRunning } from './experiment-run';

export type ShownCell = CellName & {
  campaign: string;
  /** `waiting`: not begun; `parked`, `paused` and `lost`: its campaign needs an operator. */
  status: 'waiting' | 'running' | 'parked' | 'paused' | 'lost' | 'failing' | 'finished' | 'missing';
  exploratory: boolean;
  /** Why it is missing, or what its campaign needs, with the next command. */
  reason: string | null;
};

export type ExperimentDetails = Pick<
  ExperimentRow,
  'name' | 'version' | 'hash' | 'frozenAt' | 'seeds' | 'stopped' | 'reason'
> & {
  /** `lost`: its workflow is gone, although the database has not recorded an end. */
  status: ExperimentRow['status'] | 'lost';
  problem: string | null;
  cells: ShownCell[];
  /** Estimated wall time until the last cell that it plays ends, if it plays one and the time is known. */
  secondsLeft: number | null;
  /** Looks with their cells; a look is complete when every cell is finished. */
  looks: { seeds: number; finished: number; cells: number }[];
  /** Nominal effort by arm, the mean over its finished cells; absent measures are 0 everywhere. */
  effort: ({ arm: string; cells: number } & Partial<Record<EffortMeasure, number>>)[];
};

/**
 * Returns the progress of an experiment: cells, completeness and effort. It contains no score: a difference that was seen
 * before a declared look would change what the look means.
 *
 * @throws DomainError `UnknownExperiment`
 */
export async function readExperimentDetails(connections: Connections, name: string): Promise<ExperimentDetails> {
  return detailsOf(connections, await connections.store.experiments.getByName(name));
}

/** Returns the progress of all experiments, the newest last. */
export async function listExperiments(connections: Connections): Promise<ExperimentDetails[]> {
  const rows = await connections.store.experiments.list();
  return Promise.all(rows.map((row) => detailsOf(connections, row)));
}

async function detailsOf(connections: Connections, found: ExperimentRow): Promise<ExperimentDetails> {
  const isClosed = isUnderway(found) && !(await isExperimentOpen(connections, found.name));
  const row = isClosed ? await connections.store.experiments.getByName(found.name) : found; // it may have ended meanwhile
  const isLost = isClosed && isUnderway(row);
  const { name, version, hash, frozenAt, seeds, stopped, reason } = row;
  const { arms, looks } = row.resolved;
  const stored = await connections.store.experimentCells.list(row.id);
  const names = cellsOf(arms, looks.at(-1)!);
  const cells = await Promise.all(names.map((cell) => shownCell(connections, name, cell, stored)));
  return {
    name,
    version,
    hash,
    frozenAt,
    seeds,
    stopped,
    reason,
    status: isLost ? 'lost' : row.status,
    problem: isLost ? notRunning(name).message : null,
    cells,
    secondsLeft: estimateLeft(row, stored),
    looks: looks.map((look) => {
      const due = cells.filter(({ seed }) => seed <= look);
      return { seeds: look, cells: due.length, finished: due.filter(({ status }) => status === 'finished').length };
    }),
    effort: arms.map(({ name: arm }) => armEffort(arm, stored)),
  };
}

function estimateLeft(row: ExperimentRow, stored: readonly CellRow[]): number | null {
  const { resolved, seeds, stopped } = row;
  if (seeds === null || !isUnderway(row)) return null;
  const { arms, concurrency } = resolved;
  const running = stored.filter((cell) => cell.status === 'running');
  const closed = stored.filter((cell): cell is CellRow & ClosedCell => cell.status !== 'running');
  const played = closed.filter((cell) => cell.status === 'finished' && !cell.imported);
  return secondsLeft({
    finished: played.map(({ startedAt, finishedAt }) => secondsBetween(startedAt, finishedAt!)),
    running: running.map(({ startedAt }) => secondsBetween(startedAt, new Date())),
    waiting: waitingCells({ arms, seeds, futilityLook: null, stopped, running, closed }).length,
    concurrency,
  });
}

const secondsBetween = (from: Date, to: Date): number => (to.getTime() - from.getTime()) / 1000;

/** A cell's campaign is stored before its workflow is started. */
const startGraceS = 60;

async function shownCell(
  connections: Connections,
  experiment: string,
  cell: CellName,
  stored: readonly CellRow[],
): Promise<ShownCell> {
  const row = stored.find(({ arm, seed }) => arm === cell.arm && seed === cell.seed);
  const campaign = cellCampaign(experiment, cell);
  const shown = { ...cell, campaign, exploratory: row?.exploratory ?? false };
  if (row?.status !== 'running') return { ...shown, status: row?.status ?? 'waiting', reason: row?.reason ?? null };
  const found = await connections.store.campaigns.find(campaign);
  const problem = found ? await findRunProblem(connections, found) : null;
  const isStarting = problem?.status === 'lost' && secondsBetween(row.startedAt, new Date()) < startGraceS;
  if (problem && !isStarting) return { ...shown, status: problem.status, reason: `${problem.what}; ${problem.next}` };
  if (found?.status !== 'parked' && found?.status !== 'paused') return { ...shown, status: 'running', reason: null };
  return { ...shown, status: found.status, reason: `see \`coevolve status ${campaign}\`` };
}

function armEffort(arm: string, cells: readonly CellRow[]): ExperimentDetails['effort'][number] {
  const played = cells.filter((cell) => cell.arm === arm && cell.checkpoints !== null);
  return { arm, cells: played.length, ...nominalOf(meanEffort(played)) };
}

const pollMs = 1_000;

/**
 * Reports every cell that begins, ends or needs an operator until the experiment has ended.
 *
 * @throws DomainError `UnknownExperiment`, `NotRunning`
 */
export async function followExperiment(
  connections: Connections,
  name: string,
  onCell: (cell: ShownCell, details: ExperimentDetails) => void,
): Promise<ExperimentDetails> {
  const reported = new Map<string, string>();
  for (;;) {
    const details = await readExperimentDetails(connections, name);
    for (const cell of details.cells)
      if (cell.status !== 'waiting' && reported.get(cell.campaign) !== cell.status) {
        reported.set(cell.campaign, cell.status);
        onCell(cell, details);
      }
    if (details.status === 'lost') throw notRunning(name);
    if (!isUnderway(details)) return details;
    await sleep(pollMs);
  }
}
