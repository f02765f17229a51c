import { z } from '@hono/zod-openapi';
import type { Pool } from 'pg';
import { raw, sql, type Statement } from '../../store/database/sql';
import { word } from './parameters';
import { RequestError } from './problem';

/** Parents of lists: the path's parameter, its view and the column of their rows. */
const parents = {
  campaign: { view: 'campaigns', column: 'campaign_id', code: 'UnknownCampaign', next: 'coevolve list' },
  experiment: { view: 'experiments', column: 'experiment_id', code: 'UnknownExperiment', next: 'coevolve experiment' },
} as const;

export type ParentName = keyof typeof parents;

export const isParent = (name: string): name is ParentName => Object.hasOwn(parents, name);

/** Returns the condition for the rows `t` of the parent in the path. A campaign's number, unlike its name, selects one partition. */
export async function ofParent(
  reader: Pool,
  path: string,
  parameters: Readonly<Record<string, string>>,
): Promise<Statement[]> {
  const name = parametersIn(path).find(isParent);
  return name
    ? [sql`t.${raw(parents[name].column)} = ${await parentId(reader, name, parameters[name]!)}::integer`]
    : [];
}

/** @throws RequestError 404 */
export async function parentId(reader: Pool, parent: ParentName, name: string): Promise<number> {
  const { view, code, next } = parents[parent];
  const { rows } = await reader.query<{ id: number }>(sql`select id from reporting.${raw(view)} where name = ${name}`);
  if (rows[0]) return rows[0].id;
  const error = `no ${parent} is named ${JSON.stringify(name.slice(0, 80))}`;
  throw new RequestError(404, { code, error, field: parent, found: name.slice(0, 80), next });
}

const parametersIn = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

/** Returns the schema of the parameters in a path. */
export const parametersOf = (path: string) =>
  z.object(Object.fromEntries(parametersIn(path).map((name) => [name, word])));
