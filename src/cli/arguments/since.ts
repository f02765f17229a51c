import { InvalidArgumentError } from 'commander';

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a time: a duration before now, or ISO 8601. */
export function sinceOf(text: string): Date {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const since = new Date(amount ? Date.now() - Number(amount) * unitMs[unit as keyof typeof unitMs] : text);
  if (!Number.isNaN(since.getTime())) return since;
  throw new InvalidArgumentError('expected 30s, 10m, 2h, 3d or a time such as 2026-01-31T09:00Z');
}
