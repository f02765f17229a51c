import { StackError } from '../base/errors';
import type { Config } from '../config';
import type { Launch } from '../process/processes';
import type { PortName, StackState } from './stack-state';

export const workerRoles = ['workflow', 'store', 'rollout', 'llm', 'train'] as const;
export type WorkerRole = (typeof workerRoles)[number];

export type ServiceName =
  | 'postgres'
  | 'temporal'
  | 'environment-server'
  | 'policy-server'
  | `worker-${WorkerRole}`
  | `worker-${WorkerRole}-${number}`
  | 'supervisor';

/** What the services share while a command runs: the environment's configuration and the stack's memory. */
export type Stack = { readonly config: Config; readonly state: StackState };

/** One process of the embedded stack. */
export type Service = {
  readonly name: ServiceName;
  readonly ports: readonly PortName[];
  /** Where the service is instead when the configuration points elsewhere: it is not started then. */
  foreignAddress: (config: Config) => string | undefined;
  /** Makes what must exist and clears what a killed predecessor left in the way; only while none runs. */
  prepare: (stack: Stack) => void | Promise<void>;
  /** Says what to run. A running service whose description has changed is restarted. */
  launch: (stack: Stack) => Launch;
  /** Whether it answers. */
  isReady: (stack: Stack, pid: number) => boolean | Promise<boolean>;
  /** What must be arranged inside the service once it answers; safe to repeat. */
  settle?: (stack: Stack) => Promise<void>;
  /** Ends what a killed one leaves behind outside its process group. */
  killRemains?: (stack: Stack) => Promise<void>;
  readonly readyTimeoutMs: number;
  readonly stopSignal: NodeJS.Signals;
  readonly stopGraceMs: number;
};

/** @throws Error when the stack has not chosen the port yet */
export function portOf({ state }: Stack, name: PortName): number {
  const port = state.ports[name];
  if (!port) throw new StackError(`no port is assigned to ${name}`, 'coevolve up');
  return port;
}
