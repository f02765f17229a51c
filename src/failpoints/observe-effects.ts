import type { Dependencies } from '../activities/context/dependencies';
import type { OpenEnvironment } from '../envs/contract/environment';

/** Returns the same dependencies, which call `onEffect` after each effect outside the database. */
export function observeEffects<D extends Dependencies>(dependencies: D, onEffect: () => void): D {
  return {
    ...observed<Dependencies>(dependencies, ['closeLeases', 'writeReport'], onEffect),
    artifacts: observed(dependencies.artifacts, ['saveDataset', 'saveReport', 'adoptPolicy'], onEffect),
    policies: observed(dependencies.policies, ['load', 'unload', 'sample'], onEffect),
    training: observed(dependencies.training, ['submit', 'submitStep', 'cancel'], onEffect),
    models: observed(dependencies.models, ['complete', 'completeStructured', 'embed'], onEffect),
    openEnvironment: observedSessions(dependencies.openEnvironment, onEffect),
  } as D;
}

type Method = (...request: unknown[]) => Promise<unknown>;

/** Replaces the named methods by wrappers around the target's own. */
function observed<T extends object>(target: T, names: readonly (keyof T & string)[], onEffect: () => void): T {
  const methods = names.map((name) => {
    const method = target[name] as Method;
    const wrapper: Method = async (...request) => {
      const result = await method.apply(target, request);
      onEffect();
      return result;
    };
    return [name, wrapper] as const;
  });
  return { ...target, ...Object.fromEntries(methods) };
}

/** After its reset a session is held by the environment server. */
const observedSessions =
  (open: OpenEnvironment, onEffect: () => void): OpenEnvironment =>
  async (name, options) => {
    const session = await open(name, options);
    return observed(session, ['reset'], onEffect);
  };
