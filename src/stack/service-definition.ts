import { StackError } from '../errors/errors';
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
  | 'api'
  | `worker-${WorkerRole}`
  | `worker-${WorkerRole}-${number}`
  | 'supervisor';

/** The configuration and the stored state that the services share during a command. */
export type Stack = { readonly config: Config; readonly state: StackState };

/** One process of the embedded stack. */
export type Service = {
  readonly name: ServiceName;
  readonly ports: readonly PortName[];
  /** Returns the address of an external server that the configuration names instead; the service is then not started. */
  externalAddress: (config: Config) => string | undefined;
  /** Creates required files and removes a killed predecessor's; called only while the service does not run. */
  prepare: (stack: Stack) => void | Promise<void>;
  /** Returns the program to run. A running service whose launch has changed is restarted. */
  launch: (stack: Stack) => Launch;
  isReady: (stack: Stack, pid: number) => boolean | Promise<boolean>;
  /** Sets the service up after it is ready; safe to repeat. */
  afterReady?: (stack: Stack, onProgress: (line: string) => void) => Promise<void>;
  /** Kills processes of a killed service outside its process group. */
  killLeftovers?: (stack: Stack) => Promise<void>;
  readonly readyTimeoutMs: number;
  readonly stopSignal: NodeJS.Signals;
  readonly stopGraceMs: number;
};

/** @throws StackError when the stack has not chosen the port yet */
export function portOf({ state }: Stack, name: PortName): number {
  const port = state.ports[name];
  if (!port) throw new StackError(`no port is assigned to ${name}`, 'coevolve up');
  return port;
}
