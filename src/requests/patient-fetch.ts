import { Agent, fetch as send } from 'undici';

const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** A `fetch` that the caller's signal alone ends: Node's own gives up when a response has not begun after 5 minutes. */
export const patientFetch = ((input: string, init?: object) => send(input, { ...init, dispatcher })) as typeof fetch;
