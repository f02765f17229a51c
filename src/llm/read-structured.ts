import type { z } from 'zod';
import { describeIssue } from '../input/describe-issue';
import { extractJson } from './extract-json';
import type { Reply } from './request';

export type Read<T> = { ok: true; value: T } | { ok: false; failure: Failure; problems: string[] };

type Failure = 'malformed' | 'refused' | 'cut-off';

/** Reasons of a cut-off. */
export const cutOffAt: Record<'limit' | 'context', string> = {
  limit: 'the answer reached maxTokens and thinkingTokens before it was complete',
  context: "the prompt left too little room in the model's context",
};

/** Limit of the problems in a repair prompt and in a stored row. */
const maxProblems = 12;

/** Returns the last JSON object of the reply that matches the schema; models reason first and answer last. */
export function readStructured<T>(reply: Reply, schema: z.ZodType<T>): Read<T> {
  if (reply.kind === 'refused') return { ok: false, failure: 'refused', problems: [reply.reason] };
  const objects = extractJson(reply.text).reverse();
  for (const object of objects) {
    const parsed = schema.safeParse(object);
    if (parsed.success) return { ok: true, value: parsed.data };
  }
  if (reply.kind === 'cut-off') return { ok: false, failure: 'cut-off', problems: [cutOffAt[reply.at]] };
  const [last] = objects;
  if (!last) return { ok: false, failure: 'malformed', problems: ['found no JSON object, expected one'] };
  const { error } = schema.safeParse(last, { reportInput: true });
  const problems = error!.issues.flatMap((issue) => describeIssue(issue, schema, last)).slice(0, maxProblems);
  return { ok: false, failure: 'malformed', problems };
}
