/** Formats of numbers, times and hashes: the same on pages, in exports and on terminals, whatever the machine's locale. */

/** Stands for a value that does not exist. */
export const nothing = '–';

type Optional = number | null | undefined;

/** Returns a format that shows a dash where there is no value. */
const optional =
  <Options extends unknown[]>(format: (value: number, ...options: Options) => string) =>
  (value: Optional, ...options: Options): string =>
    value === null || value === undefined ? nothing : format(value, ...options);

/** Formats with U+2212 for minus, and with a plus sign if `always`. A value that is shown as 0 has no sign. */
function withSign(value: number, digits: number, always: boolean): string {
  const magnitude = Math.abs(value).toFixed(digits);
  if (Number(magnitude) === 0) return magnitude;
  return value < 0 ? `−${magnitude}` : `${always ? '+' : ''}${magnitude}`;
}

/** Adds thousands separators to the integer part of a number. Workflows have no locale. */
const grouped = (text: string): string => text.replace(/\d+/, (integer) => integer.replaceAll(/\B(?=(\d{3})+$)/g, ','));

/** Formats an integer with thousands separators: `12,345`. */
export const count = optional((value) => grouped(value.toFixed(0)));

/** Formats a count with its noun: `1 task`, `2 tasks`. */
export const counted = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;

/** Formats a large count in thousands: `12k`; smaller ones in full. */
export const thousands = (value: number): string => (value >= 10_000 ? `${count(value / 1000)}k` : count(value));

/** Formats a number with two decimals, or with `digits`. */
export const decimal = optional((value, digits: number = 2) => withSign(value, digits, false));

/** Formats a rate or a reward with three decimals. */
export const rate = optional((value) => value.toFixed(3));

/** Formats a difference of rates or rewards with its sign and three decimals. */
export const signed = optional((value) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`);

/** Formats a share of a whole with three decimals. An empty whole has no share. */
export const share = (part: number, whole: number): string => (whole === 0 ? nothing : rate(part / whole));

/** Formats a value of a metric in points: 0.01 is one point. */
export const points = optional((value, digits: number = 1) => withSign(100 * value, digits, false));

/** Formats a difference in points with its sign. */
export const signedPoints = optional((value) => withSign(100 * value, 1, true));

/** Formats a fraction in per cent, without zeros at the end. */
export const percent = optional((fraction, digits: number = 1) => `${Number((100 * fraction).toFixed(digits))} %`);

/** Formats an interval, by default of rates. */
export const interval = (low: Optional, high: Optional, format: (value: number) => string = rate): string =>
  low === null || low === undefined || high === null || high === undefined
    ? nothing
    : `${format(low)} to ${format(high)}`;

/** Formats a p value. One below 0.001 is given as a bound, never as 0. */
export const pValue = optional((p) => (p < 0.001 ? '< 0.001' : p.toFixed(3)));

/** Formats a p value for a sentence: `p = 0.012`, `p < 0.001`. */
export const pEquals = (p: number): string => `p ${p < 0.001 ? '' : '= '}${pValue(p)}`;

/** Formats integers with thousands separators and other numbers with three decimals. */
export const rounded = optional((value) => (Number.isInteger(value) ? count(value) : value.toFixed(3)));

/** Formats a number with three significant digits. */
export const significant = (value: number): string => String(Number(value.toPrecision(3)));

/** Formats seconds as `9.5 s`, `42 s`, `1 min 5 s` or `2 h 1 min`. */
export const duration = optional((seconds) => {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const total = Math.round(seconds);
  if (total < 60) return `${total} s`;
  const minutes = Math.floor(total / 60);
  return minutes < 60 ? `${minutes} min ${total % 60} s` : `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`;
});

/** Formats dollars with two decimals, amounts below one dollar with four. */
export const dollars = optional(
  (usd, digits: number = usd > 0 && usd < 1 ? 4 : 2) => `$${grouped(usd.toFixed(digits))}`,
);

/** Formats a size as `512 B`, `1.5 KiB`, `23.0 MiB` and so on. */
export const byteSize = optional((size) => {
  const power = Math.min(5, Math.max(0, Math.floor(Math.log2(size) / 10)));
  return power === 0 ? `${size} B` : `${(size / 1024 ** power).toFixed(1)} ${'KMGTP'[power - 1]}iB`;
});

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats an ISO time as `2 Mar 2026, 09:00 UTC`. */
export function dateTime(iso: string): string {
  const [year, month, day] = iso.slice(0, 10).split('-');
  return `${Number(day)} ${months[Number(month) - 1]} ${year}, ${iso.slice(11, 16)} UTC`;
}

/** Shortens a hash to the 12 digits that are shown. */
export const shortHash = (hash: string | null): string => hash?.slice(0, 12) ?? nothing;

/** Returns a text as one line of at most `length` characters; `…` marks a cut. */
export function oneLine(value: string, length = 70): string {
  const line = value.replaceAll(/\s+/g, ' ').trim();
  return line.length > length ? `${line.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : line;
}
