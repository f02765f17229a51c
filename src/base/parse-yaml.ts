import { parseDocument, type YAMLError } from 'yaml';

/** Parses one YAML (or JSON) document to plain values. Returns one line per mistake if it is invalid. */
export function parseYaml(text: string): { value: unknown } | { problems: string[] } {
  const document = parseDocument(text, { stringKeys: true, prettyErrors: true });
  const mistakes: YAMLError[] = [...document.errors, ...document.warnings]; // an unknown tag is only a warning
  if (mistakes.length > 0) return { problems: mistakes.map((mistake) => describe(mistake, text)) };
  try {
    return { value: document.toJS() as unknown };
  } catch (error) {
    // an alias without its anchor, or nested aliases that expand beyond the memory
    return { problems: [`not YAML: ${(error as Error).message}`] };
  }
}

function describe({ code, message, linePos, pos }: YAMLError, text: string): string {
  const start = linePos?.[0];
  const position = start ? `line ${start.line}` : 'not YAML';
  switch (code) {
    case 'DUPLICATE_KEY': {
      const key = /^[^:\s]*/.exec(text.slice(pos[0]))?.[0];
      return `${position}: found ${key} a second time, expected every key once`;
    }
    case 'MULTIPLE_DOCS':
      return `${position}: found a second document after "---", expected one campaign per file`;
    case 'TAB_AS_INDENT':
      return `${position}: found a tab, expected spaces as indentation`;
    case 'NON_STRING_KEY':
      return `${position}: found a list or a mapping as a key, expected a name`;
    default:
      return `${position}: not YAML: ${message.replace(/ at line \d+, column \d+:[\s\S]*$/, '')}`;
  }
}
