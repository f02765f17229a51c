/**
 * Returns text of models, servers, specs and operators as a code span of Markdown, in which links, images and HTML are
 * text. Its fence is longer than every run of backticks within, and it has no line break, which could end the span.
 */
export function asCode(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line} ${fence}`; // Markdown removes one space at each end
}

/** Returns lines as a block of code, whose columns the UI keeps. Its fence is longer than every run of backticks within. */
export function codeBlock(lines: readonly string[]): string {
  const text = lines.join('\n');
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
