import { cellsOf, type Arm, type CellName, type Experiment } from './experiment';

/** Workflow id of an experiment. */
export const experimentWorkflowId = (name: string): string => `experiment/${name}`;

/** A cell whose campaign has ended: with all its iterations, or without. */
export type ClosedCell = CellName & { status: 'finished' | 'missing' };

/** State of an experiment's workflow and answer to the query `status`. Rebuilt from the database at every start. */
export type ExperimentState = {
  experimentId: number;
  name: string;
  arms: readonly (Pick<Arm, 'name' | 'matches'> & {
    /** Reasons why a repetition of its cells can give other rows (src/specification/nondeterminism.ts). */
    nondeterminism: readonly string[];
  })[];
  /** Seeds of each arm that are played: a declared look. */
  seeds: number;
  /** The look that may end the experiment: no cell beyond it starts before all cells of the look have ended. */
  futilityLook: number | null;
  concurrency: number;
  status: 'running' | 'paused' | 'finished' | 'stopped';
  /** Arms of which no further cell starts. */
  stopped: string[];
  /** No further cell starts. */
  stopping: boolean;
  /** Reason of the pause or the stop, if there is one. */
  reason: string | null;
  /** Number of the last stored change of status, stopped arms and reason. */
  revision: number;
  running: CellName[];
  closed: ClosedCell[];
};

type Cells = Pick<ExperimentState, 'seeds' | 'futilityLook' | 'stopped' | 'running' | 'closed'> & {
  arms: readonly Pick<Arm, 'name' | 'matches'>[];
};

export const isSameCell = (a: CellName, b: CellName): boolean => a.arm === b.arm && a.seed === b.seed;

const includes = (cells: readonly CellName[], cell: CellName): boolean => cells.some((each) => isSameCell(each, cell));

/** Returns the cell whose admitted tasks a cell equals in number; undefined without one. */
export function matchedCell({ arms }: Pick<Cells, 'arms'>, { arm, seed }: CellName): CellName | undefined {
  const matches = arms.find(({ name }) => name === arm)?.matches;
  return matches ? { arm: matches, seed } : undefined;
}

/** Returns the cells that are still to start. A cell that matches one that will not start does not start either. */
export function waitingCells(state: Cells): CellName[] {
  const { stopped, running, closed } = state;
  const isBegun = (cell: CellName): boolean => includes(running, cell) || includes(closed, cell);
  const isStopped = (cell: CellName): boolean => {
    if (isBegun(cell)) return false;
    const matched = matchedCell(state, cell);
    return stopped.includes(cell.arm) || (matched !== undefined && isStopped(matched));
  };
  return cellsOf(state.arms, state.seeds).filter((cell) => !isBegun(cell) && !isStopped(cell));
}

/**
 * Returns the cell to start now: the campaign that it matches has ended, and so have all before a look that may end the experiment. As
 * many seeds are open as cells may run, and of these the one with the fewest running cells is next: the cells of a seed
 * have the same supervised start, which two of them would train at once.
 */
export function nextCell(state: Cells & Pick<ExperimentState, 'concurrency'>): CellName | undefined {
  const { futilityLook: look, concurrency, running, closed } = state;
  const waiting = waitingCells(state);
  const isLookOpen = look !== null && [...running, ...waiting].some(({ seed }) => seed <= look);
  const startable = waiting.filter((cell) => {
    const matched = matchedCell(state, cell);
    return (!matched || includes(closed, matched)) && !(isLookOpen && cell.seed > look);
  });
  const firstSeed = Math.min(...[...running, ...waiting].map(({ seed }) => seed));
  const open = startable.filter(({ seed }) => seed < firstSeed + concurrency);
  const runningOf = ({ seed }: CellName): number => running.filter((cell) => cell.seed === seed).length;
  return open.toSorted((a, b) => runningOf(a) - runningOf(b))[0] ?? startable[0];
}

/** Returns the look that may end the experiment, by futility or by a verdict; null without one. */
export const endingLook = ({ looks, stopping }: Pick<Experiment, 'looks' | 'stopping'>): number | null =>
  (stopping.futility !== null || stopping.decided) && looks.length === 2 ? looks[0]! : null;

/** Returns whether every cell of every arm has ended, stopped arms included. */
export const isComplete = (state: Cells): boolean =>
  cellsOf(state.arms, state.seeds).every((cell) => includes(state.closed, cell));

/** Cells of an experiment, in seconds of wall time. */
export type CellTimes = {
  /** Of each cell that was played here to its end. */
  finished: readonly number[];
  /** So far, of each running cell. */
  running: readonly number[];
  /** Number of cells that will start. */
  waiting: number;
  concurrency: number;
};

/**
 * Estimates the seconds until the last cell ends, from the mean of the finished ones. Returns null if there is nothing to
 * estimate from, or nothing to wait for. The first cells of a seed take longer where later ones find their start.
 */
export function secondsLeft({ finished, running, waiting, concurrency }: CellTimes): number | null {
  if (finished.length === 0 || running.length + waiting === 0) return null;
  const mean = sum(finished) / finished.length;
  return (waiting * mean + sum(running.map((seconds) => Math.max(0, mean - seconds)))) / concurrency;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
