import { CoevolveError } from '../../src/domain/errors';

/** A chaos run failed, or found a campaign that differs from its undisturbed run. */
export class ChaosError extends CoevolveError {
  override readonly name = 'ChaosError';
}
