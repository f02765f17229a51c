import { setTimeout as sleep } from 'node:timers/promises';
import { retry } from '../requests/retry';
import type { EvaluatedIteration } from '../domain/campaign/progress';
import type { AttemptProgress } from '../domain/campaign/attempt-progress';
import { hasEnded, type CampaignStatus } from '../store/campaign/campaigns';
import type { PhaseRow } from '../store/campaign/iterations';
import type { RunningJob } from '../store/training/training-progress';
import { listRunningRollouts } from './running-rollouts';
import type { Connections } from './connections';

/** The phase that runs now. */
export type RunningPhase = { phase: PhaseRow; rollouts: AttemptProgress[]; jobs: RunningJob[] };

export type FollowCallbacks = {
  /** Called once per completed phase, in order. */
  onPhase(phase: PhaseRow): void;
  /** Called after an evaluation, with the decision about the trained policy. */
  onEvaluated?: (evaluated: EvaluatedIteration) => void;
  /** Called when the campaign parks in a phase. */
  onParked(): void;
  /** Called at every poll while a phase runs. */
  onRunning?: (running: RunningPhase) => void;
  /** Called every few seconds before the end; its error ends the following. */
  check?: () => Promise<void>;
};

const pollMs = 700;
const checkEveryMs = 5_000;

/**
 * Reports a campaign's progress until the campaign ends and returns its final status. While the database is unavailable,
 * requests are retried for two minutes.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function followCampaign(
  { store }: Pick<Connections, 'store'>,
  name: string,
  { onPhase, onEvaluated, onParked, onRunning, check }: FollowCallbacks,
): Promise<CampaignStatus> {
  const campaign = await store.campaigns.getByName(name);
  const { id } = campaign;
  const reported = new Set<string>();
  let parkedIn = '';
  let checkedAt = -Infinity;
  for (;;) {
    const { status } = await retryWhileUnreachable(() => store.campaigns.getByName(name));
    const phases = await retryWhileUnreachable(() => store.iterations.listPhases(id));
    for (const phase of phases.filter((row) => row.finishedAt && !reported.has(keyOf(row)))) {
      onPhase(phase);
      if (onEvaluated && phase.phase === 'evaluate') {
        const scores = await retryWhileUnreachable(() => store.evaluations.listEvaluated(id));
        const evaluated = scores.find(({ iteration }) => iteration === phase.iteration);
        if (evaluated) onEvaluated(evaluated);
      }
      reported.add(keyOf(phase));
    }
    if (hasEnded(status)) return status;
    if (check && performance.now() - checkedAt > checkEveryMs) {
      await check();
      checkedAt = performance.now();
    }

    const running = phases.find(({ finishedAt }) => !finishedAt);
    if (status === 'parked' && parkedIn !== keyOf(running)) onParked();
    parkedIn = status === 'parked' ? keyOf(running) : '';
    if (running && onRunning) {
      const rollouts = await retryWhileUnreachable(() => listRunningRollouts({ store }, campaign, phases));
      const jobs = await retryWhileUnreachable(() => store.trainingProgress.listRunning(id));
      onRunning({ phase: running, rollouts, jobs });
    }
    await sleep(pollMs);
  }
}

const keyOf = (row?: PhaseRow): string => (row ? `${row.iteration}/${row.phase}` : '');

/** Repeats a request for at most two minutes while the database restarts or cannot be reached. */
const retryWhileUnreachable = <T>(request: () => Promise<T>): Promise<T> =>
  retry(request, { shouldRetry: isUnreachable, timeoutMs: 120_000, firstMs: 500 });

/** Checks for SQLSTATE classes 08 (connection) and 57P (server shutdown or start), Node's codes and pg's message. */
function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return /^(08|57P|ECONN|EPIPE)/.test(code) || error.message.startsWith('Connection terminated');
}
