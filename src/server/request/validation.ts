import type { z } from '@hono/zod-openapi';
import { describeIssue } from '../../input/describe-issue';
import { RequestError } from './problem';

/** The outcome of a validation: `target` is query, param, header or json, `data` the input of the client. */
type Validated = { success: boolean; target: string; data?: unknown; error?: z.core.$ZodError };

/** Refuses a request whose parameters or body break their schema, with the first mistake. */
export function refuseInvalid({ success, target, data, error }: Validated): void {
  const issue = error?.issues[0];
  if (success || !issue) return;
  const [line = ''] = describeIssue(issue, undefined, data);
  const [, field = target, found = 'another value', expected = issue.message] =
    issue.code === 'unrecognized_keys'
      ? ['', issue.keys[0], 'an unknown key', `a key of ${target} in the document of the API`]
      : (/^(.*?): found (.*), expected (.*)$/s.exec(line) ?? []);
  throw new RequestError(400, {
    code: 'InvalidRequest',
    error: `${field}: found ${found}, expected ${expected}`,
    field,
    found,
    expected,
    next: 'GET /api/v1/openapi.json',
  });
}
