import { EnvHttpProxyAgent, fetch as send } from 'undici';

/**
 * A `fetch` for addresses that may lie outside of the operator's network, as of a language-model provider or a webhook: it
 * uses the proxy of `HTTPS_PROXY` or `HTTP_PROXY`, but not for addresses of `NO_PROXY`. Node's own reads none of them. It has no
 * time limit of its own, so a caller passes a signal: undici's limit of five minutes would end a slow model's answer.
 */
export const outboundFetch = ((input: string, init?: object) => {
  dispatcher ??= new EnvHttpProxyAgent({ headersTimeout: 0, bodyTimeout: 0 });
  return send(input, { ...init, dispatcher });
}) as typeof fetch;

/** Reads the variables at the first request, when this machine's addresses are among those of `NO_PROXY`. */
let dispatcher: EnvHttpProxyAgent | undefined;
