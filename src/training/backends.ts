import { kubernetes } from './kubernetes';
import { local } from './local';

/** The training backends by the values of `compute.backend`. */
export const backends = { local, kubernetes };

export type BackendName = keyof typeof backends;
export const backendNames = Object.keys(backends) as BackendName[];

/** Names in the configuration of the backends' files of settings. */
export type BackendFile = { [Name in BackendName]: keyof (typeof backends)[Name]['files'] }[BackendName];

/** Variables of the backends' files of settings. */
export const backendFiles: Readonly<Record<BackendFile, string>> = Object.assign(
  {},
  ...Object.values(backends).map(({ files }) => files),
);
