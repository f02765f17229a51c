import { parseDocument, type YAMLError } from 'yaml';

/** One document of YAML (or JSON) as plain values, or what is wrong with it, a line per mistake. */
export function parseYaml(text: string): { value: unknown } | { problems: string[] } {
  const document = parseDocument(text, { stringKeys: true, prettyErrors: true });
  const mistakes: YAMLError[] = [...document.errors, ...document.warnings]; // an unknown tag is only a warning
  if (mistakes.length > 0) return { problems: mistakes.map((mistake) => describe(mistake, text)) };
  try {
    return { value: document.toJS() as unknown };
  } catch (error) {
    // An alias without its anchor, or aliases of aliases that would fill the memory
    return { problems: [`not YAML: ${(error as Error).message}`] };
  }
}

function describe({ code, message, linePos, pos }: YAMLError, text: string): string {
  const start = linePos?.[0];
  const place = start ? `line ${start.line}` : 'not YAML';
  switch (code) {
    case 'DUPLICATE_KEY': {
      const key = /^[^:\s]*/.exec(text.slice(pos[0]))?.[0];
      return `${place}: found ${key} a second time, expected every key once`;
    }
    case 'MULTIPLE_DOCS':
      return `${place}: found a second document after "---", expected one campaign per file`;
    case 'TAB_AS_INDENT':
      return `${place}: found a tab, expected spaces as indentation`;
    case 'NON_STRING_KEY':
      return `${place}: found a list or a mapping as a key, expected a name`;
    default:
      return `${place}: not YAML: ${message.replace(/ at line \d+, column \d+:[\s\S]*$/, '')}`;
  }
}
