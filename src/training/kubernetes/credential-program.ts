import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { BackendError } from '../backend-error';

export type CredentialProgram = {
  apiVersion: string;
  command: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
};

const run = promisify(execFile);
const timeoutMs = 60_000;
/** A token that has less than this to live is asked for anew. */
const marginMs = 60_000;

const answer = z.looseObject({
  status: z.looseObject({ token: z.string().min(1), expirationTimestamp: z.string().nullish() }),
});

/**
 * A program of the cluster's vendor that says the token (client.authentication.k8s.io), which kubeconfigs of the large
 * clouds name; it is asked again when the token expires. Client certificates from such a program are not read.
 *
 * @param folder of the kubeconfig, to which a relative path is relative
 */
export function credentialProgram(program: CredentialProgram, folder: string): () => Promise<string> {
  const { apiVersion, command, args, env } = program;
  const file = command.includes('/') ? path.resolve(folder, command) : command;
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } });
  const variables = [...(env ?? []).map(({ name, value }) => `${name}=${value}`), `KUBERNETES_EXEC_INFO=${info}`];
  let known: { token: string; untilMs: number } | undefined;

  return async () => {
    if (known && Date.now() < known.untilMs) return known.token;
    try {
      const { stdout } = await run('env', [...variables, file, ...(args ?? [])], { timeout: timeoutMs });
      const { token, expirationTimestamp } = answer.parse(JSON.parse(stdout)).status;
      known = { token, untilMs: expirationTimestamp ? Date.parse(expirationTimestamp) - marginMs : Infinity };
      return token;
    } catch (error) {
      const { code } = error as { code?: string | number }; // what it printed may hold a token
      const problem = code === undefined ? 'says no token' : `failed (${code})`;
      throw new BackendError('retry', `the kubeconfig's credential program "${command}" ${problem}`);
    }
  };
}
