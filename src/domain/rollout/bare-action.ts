import { actionOf } from './action-form';

/** Returns the text after the last `Action:`, without code fences, a final semicolon and repeated white space. */
export const bareAction = (text: string): string =>
  actionOf(text)
    .replaceAll(/^[ \t]*```\w*\s|```[ \t]*$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/ ?;$/, '');
