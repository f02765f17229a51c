import type { Dependencies } from '../activities/base/dependencies';
import type { OpenEnvironment } from '../envs/base/environment';

/** The same services, telling when something outside the database has been done. */
export function reportingEffects<S extends Dependencies>(services: S, done: () => void): S {
  return {
    ...reporting<Dependencies>(services, ['closeLeases', 'writeReport'], done),
    artifacts: reporting(services.artifacts, ['saveDataset', 'saveReport', 'adoptPolicy'], done),
    policies: reporting(services.policies, ['load', 'unload', 'sample'], done),
    training: reporting(services.training, ['submit', 'submitStep', 'cancel'], done),
    models: reporting(services.models, ['ask', 'askFor', 'embed'], done),
    openEnvironment: openedSessions(services.openEnvironment, done),
  } as S;
}

type Method = (...request: unknown[]) => Promise<unknown>;

/** Those of the methods that are named, around the target's own. */
function reporting<T extends object>(target: T, names: readonly (keyof T & string)[], done: () => void): T {
  const methods = names.map((name) => {
    const method = target[name] as Method;
    const told: Method = async (...request) => {
      const result = await method.apply(target, request);
      done();
      return result;
    };
    return [name, told] as const;
  });
  return { ...target, ...Object.fromEntries(methods) };
}

/** A session that was begun is one that the environment server holds. */
const openedSessions =
  (open: OpenEnvironment, done: () => void): OpenEnvironment =>
  async (name, options) => {
    const session = await open(name, options);
    return reporting(session, ['reset'], done);
  };
