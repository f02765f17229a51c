/** Reads a comma-separated option. */
export const listOf = (text: string): string[] => text.split(',').map((part) => part.trim());
