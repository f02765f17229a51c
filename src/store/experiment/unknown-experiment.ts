import type { ClientBase, Pool } from 'pg';
import { didYouMean } from '../../input/did-you-mean';
import { DomainError } from '../../domain/errors';

/** Returns the error for a name that no experiment has, with a similar name if there is one. */
export async function unknownExperiment(client: Pick<ClientBase | Pool, 'query'>, name: string): Promise<DomainError> {
  const { rows } = await client.query<{ name: string }>('select name from experiments order by id desc limit 1000');
  const similar = didYouMean(
    name,
    rows.map((row) => row.name),
  );
  return new DomainError(
    'UnknownExperiment',
    `no experiment is named "${name}"; freeze one with \`coevolve experiment freeze <file>\`${similar}`,
  );
}
