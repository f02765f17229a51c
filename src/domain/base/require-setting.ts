import { DomainError } from './errors';

/** @throws DomainError `InvalidSetting`, naming field, expectation and value, unless `holds` */
export function requireSetting(holds: boolean, field: string, expected: string, value: unknown): void {
  if (!holds) throw new DomainError('InvalidSetting', `${field} must be ${expected}, got ${String(value)}`);
}
