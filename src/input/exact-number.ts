/** Whether a number of a JSON text is the same number after JavaScript has read and written it. */
export function isExactNumber(text: string): boolean {
  const value = Number(text);
  return /^-?\d{16,}$/.test(text) ? String(value) === text : Number.isFinite(value);
}

/** The expectation that stands in the errors of other numbers. */
export const exactNumber = 'an integer up to 2^53, a decimal up to 1.8e308, or a text';
