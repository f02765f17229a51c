/** Returns the pattern of `like` for the texts that contain this one. */
export const containing = (text: string): string => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
