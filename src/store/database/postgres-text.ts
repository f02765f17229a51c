import { storable } from '../../input/storable';

export { storableText as toText } from '../../input/storable';

/** Returns JSON in which every string and key can be stored by Postgres. */
export const toJson = (value: unknown): string => JSON.stringify(storable(value));
