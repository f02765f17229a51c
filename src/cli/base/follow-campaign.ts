import { setTimeout as sleep } from 'node:timers/promises';
import pc from 'picocolors';
import type { Pool } from 'pg';
import { hasEnded } from '../../store/campaign/campaigns';
import type { PhaseRow } from '../../store/campaign/iterations';
import { retryWhileUnreachable } from '../../client/retry-unreachable';
import { duration, rounded, say } from './output';
import type { Session } from '../../client/session';
import { jobText } from './training-text';

const pollMs = 700;

/**
 * Tells of every phase as it commits, until the campaign ends. What runs now is shown on a terminal's last line. A database
 * that restarts meanwhile is waited for.
 */
export async function followCampaign({ pool, store }: Session, name: string): Promise<string> {
  const { id } = await store.campaigns.getByName(name);
  const told = new Set<string>();
  let parked = '';
  for (;;) {
    const { status } = await retryWhileUnreachable(() => store.campaigns.getByName(name));
    const phases = await retryWhileUnreachable(() => store.iterations.listPhases(id));
    for (const phase of phases.filter((row) => row.finishedAt && !told.has(keyOf(row)))) {
      clearLine();
      say(phaseText(phase));
      told.add(keyOf(phase));
    }
    if (hasEnded(status)) return status;

    const running = phases.find(({ finishedAt }) => !finishedAt);
    if (status === 'parked' && parked !== keyOf(running)) say(pc.yellow(`  parked: see \`coevolve status ${name}\``));
    parked = status === 'parked' ? keyOf(running) : '';
    if (running && process.stderr.isTTY) {
      const attempts = await retryWhileUnreachable(() => countAttempts(pool, id, running.iteration));
      const jobs = (await retryWhileUnreachable(() => store.trainingProgress.listRunning(id))).map(
        (job) => `; ${jobText(job)}`,
      );
      const line = `  ${running.phase} … ${elapsed(running)}, ${attempts} attempts in this iteration${jobs.join('')}`;
      clearLine();
      process.stderr.write(pc.dim(line.slice(0, process.stderr.columns - 1))); // a line that wraps cannot be cleared
    }
    await sleep(pollMs);
  }
}

async function countAttempts(pool: Pool, id: number, iteration: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::integer as count from trajectories where campaign_id = $1::integer and iteration = $2::smallint',
    [id, iteration],
  );
  return rows[0]!.count;
}

const keyOf = (row?: PhaseRow): string => (row ? `${row.iteration}/${row.phase}` : '');

const elapsed = ({ startedAt, finishedAt }: PhaseRow): string =>
  duration(((finishedAt?.getTime() ?? Date.now()) - startedAt.getTime()) / 1000);

function phaseText(row: PhaseRow): string {
  const heading =
    row.phase === 'plan' ? `${pc.bold(row.iteration === 0 ? 'supervised start' : `iteration ${row.iteration}`)}\n` : '';
  const counts = Object.entries(row.result ?? {}).map(([key, value]) => `${key} ${rounded(value)}`);
  return `${heading}  ${pc.green('✓')} ${row.phase.padEnd(11)} ${elapsed(row).padStart(8)}  ${pc.dim(counts.join(', '))}`;
}

function clearLine(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
}
