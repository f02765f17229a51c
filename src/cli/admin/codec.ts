import { UsageError } from '../../base/errors';
import { once } from 'node:events';
import path from 'node:path';
import type { Command } from 'commander';
import { required, type Config } from '../../config';
import { startCodecServer } from '../../temporal/codec-server';
import { makePayloadKey } from '../../temporal/make-payload-key';
import { keysVariable, readPayloadKeys } from '../../temporal/payload-keys';
import { payloadSeal } from '../../temporal/payload-seal';
import { printResult, say } from '../base/output';
import { currentConfig } from '../../client/session';

/** `coevolve codec key|serve`: keys for the payloads of histories, and a server that opens them for the Web UI. */
export function addCodec(program: Command): void {
  const codec = program.command('codec').description('make keys for payloads, open sealed payloads for the Web UI');
  codec
    .command('key <file>')
    .description('write a new key to a file that is not there yet')
    .option('--json', 'print where it was written as JSON')
    .action((file: string, { json }: { json?: boolean }) => {
      makePayloadKey(file);
      const id = path.basename(file).replace(/\.[^.]*$/, '');
      say(
        `add it to the file that ${keysVariable} names, keep the keys that are there, and run \`coevolve up\` again:`,
      );
      printResult(json, { file: path.resolve(file) }, () =>
        ['current: <id>', 'keys:', '  <id>:', `    file: ${file}`].join('\n').replaceAll('<id>', id),
      );
    });
  codec
    .command('serve')
    .description('open payloads for the Web UI until interrupted; prints the address to paste there')
    .option('--port <port>', 'port on 127.0.0.1; any that is free by default', portOf, 0)
    .option('--origin <url>', "address of the Web UI's pages; the stack's own by default")
    .option('--json', 'print the address as JSON')
    .action(serve);
}

type ServeOptions = { port: number; origin?: string; json?: boolean };

async function serve({ port, origin, json }: ServeOptions): Promise<void> {
  const config = currentConfig();
  if (!config.payloadKeysFile)
    throw new UsageError(
      `no keys are known: set ${keysVariable} to the file that holds them; docs/security.md shows one`,
    );
  const keys = readPayloadKeys(config.payloadKeysFile);
  const origins = originsOf(config, origin);
  const server = await startCodecServer({ codec: payloadSeal(keys), origins, port });
  say(`answers pages of ${origins.join(' and ')}, until interrupted`);
  say(
    'paste the address in the Web UI under "Data encoder" as the remote codec endpoint; it is as secret as the keys:',
  );
  printResult(json, { url: server.url, origins }, () => server.url);
  await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
  await server.close();
}

/** A UI on this machine is reached by two names. */
function originsOf({ temporal: { uiUrl } }: Config, given: string | undefined): string[] {
  const text = required(given ?? uiUrl, 'Web UI', 'COEVOLVE_TEMPORAL_UI_URL');
  if (!URL.canParse(text)) throw new UsageError(`--origin: expected http://<host>:<port>, got "${text}"`);
  const { origin } = new URL(text);
  const other = origin.replace('//127.0.0.1', '//localhost');
  return origin === other ? [origin] : [origin, other];
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port: expected a whole number from 0 to 65535, got "${text}"`);
}
