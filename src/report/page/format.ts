/** Formats of numbers in the report, with English thousands separators independent of the machine's locale. */

export const nothing = '–';

/** Formats a rate or a reward with three decimals. */
export const rate = (value: number | null): string => (value === null ? nothing : value.toFixed(3));

/** Formats a share of a whole; an empty whole has no share. */
export const share = (part: number, whole: number): string => (whole === 0 ? nothing : rate(part / whole));

export const count = (value: number | null): string =>
  value === null ? nothing : Math.round(value).toLocaleString('en-US');

/** Formats a difference with its sign (U+2212 for minus). */
export const signed = (value: number | null): string =>
  value === null ? nothing : `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;

export const interval = (low: number, high: number): string => `${rate(low)} to ${rate(high)}`;

export const signedInterval = (low: number, high: number): string => `${signed(low)} to ${signed(high)}`;

/** Formats a p value; one below 0.001 is given as a bound, never as 0. */
export const probability = (p: number): string => (p < 0.001 ? '< 0.001' : p.toFixed(3));

export const percent = (fraction: number): string => `${Number((100 * fraction).toFixed(1))} %`;

/** Formats seconds: 0.8 s, 12.3 s, 3 min 05 s, 2 h 07 min. */
export function duration(seconds: number | null): string {
  if (seconds === null) return nothing;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const pad = (n: number): string => String(n).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  const minutes = Math.round(seconds / 60);
  return `${count(Math.floor(minutes / 60))} h ${pad(minutes % 60)} min`;
}

/** Formats dollars with two decimals, amounts below one dollar with four. */
export function dollars(usd: number): string {
  const digits = usd > 0 && usd < 1 ? 4 : 2;
  return `$${usd.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function dateTime(date: Date): string {
  const [day, time] = date.toISOString().split('T') as [string, string];
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]!} ${day.slice(0, 4)}, ${time.slice(0, 5)} UTC`;
}

export const shortHash = (hash: string | null): string => hash?.slice(0, 12) ?? nothing;

/** Formats a count with its noun: `1 task`, `2 tasks`. */
export const counted = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
