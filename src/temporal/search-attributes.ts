import type { Connection } from '@temporalio/client';
import { ConfigError } from '../errors/errors';
import type { TemporalConfig } from '../config';
import { withTemporal } from './with-temporal';

/** Search attributes that the workflows set, for lists and searches in the UI. */
export const searchAttributes = {
  CampaignName: 'Keyword',
  Recipe: 'Keyword',
  EnvironmentName: 'Keyword',
  Phase: 'Keyword',
  Outcome: 'Keyword',
  Iteration: 'Int',
  BestScore: 'Double',
  NeedsAttention: 'Bool',
} as const;

type TypeName = (typeof searchAttributes)[keyof typeof searchAttributes];

const valueTypes: Record<TypeName, number> = { Keyword: 2, Int: 3, Double: 4, Bool: 5 }; // temporal.api.enums.v1.IndexedValueType
const typeNames = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];

/**
 * Returns the search attributes that a namespace lacks.
 *
 * @throws ConfigError for one of another type: no workflow task that sets it would ever complete
 */
export async function missingSearchAttributes(
  { operatorService }: Connection,
  namespace: string,
): Promise<[name: string, type: TypeName][]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  const expected = Object.entries(searchAttributes);
  const wrong = expected.flatMap(([name, type]) => {
    const found = customAttributes[name] ?? valueTypes[type];
    return found === valueTypes[type] ? [] : [`${name}: found ${typeNames[found] ?? found}, expected ${type}`];
  });
  if (wrong.length > 0)
    throw new ConfigError(
      'TEMPORAL_NAMESPACE',
      `the namespace ${namespace} has search attributes of another type (${wrong.join('; ')}); set a namespace of its own`,
    );
  return expected.filter(([name]) => !(name in customAttributes));
}

/** Adds the search attributes that a namespace lacks. */
export async function addSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const missing = await missingSearchAttributes(connection, namespace);
  if (missing.length === 0) return;
  const added = Object.fromEntries(missing.map(([name, type]) => [name, valueTypes[type]]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added });
}

/** @throws ConfigError see `missingSearchAttributes` */
export async function requireSearchAttributes(temporal: TemporalConfig): Promise<void> {
  await withTemporal(temporal, (connection) => missingSearchAttributes(connection, temporal.namespace));
}
