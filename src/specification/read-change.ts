import { z } from 'zod';
import { innermost, schemaAt, takesNull } from '../input/describe-issue';
import { parseYaml } from '../input/parse-yaml';
import { campaignSpecSchema } from './campaign-spec';
import type { SpecChange } from './spec-layers';

/**
 * Reads a change of a spec, `<key>=<value>`. The value is YAML; for a key that takes a text, `2026` and `true` are texts.
 *
 * @returns the problem in one line if the change is unusable
 */
export function readChange(change: string): SpecChange | { problem: string } {
  const equals = change.indexOf('=');
  if (equals < 1) return { problem: `--set: found "${change}", expected <key>=<value>, as in training.dpo.beta=0.2` };
  const path = change.slice(0, equals).split('.');
  const text = change.slice(equals + 1);
  const parsed = parseYaml(text);
  if ('problems' in parsed) return { problem: `--set ${path.join('.')}: ${parsed.problems.join('; ')}` };
  return { path, value: takesText(path, parsed.value) ? text : parsed.value };
}

function takesText(path: readonly string[], value: unknown): boolean {
  const schema = schemaAt(campaignSpecSchema, path);
  const inner = innermost(schema);
  const isText = inner instanceof z.ZodString || inner instanceof z.ZodEnum;
  return isText && typeof value !== 'string' && !(value === null && takesNull(schema));
}
