import { once } from 'node:events';
import path from 'node:path';
import type { Command } from 'commander';
import { UsageError, required } from '../../errors/errors';
import type { Config } from '../../config';
import { startCodecServer } from '../../temporal/codec-server';
import { keysVariable, readPayloadKeys, makePayloadKey } from '../../temporal/payload-keys';
import { payloadSeal } from '../../temporal/payload-seal';
import { printResult, printMessage } from '../output/output';
import { currentConfig } from '../../client/connections';

/** `coevolve codec key|serve`: creates keys for history payloads and serves decryption to the Web UI. */
export function addCodec(program: Command): void {
  const codec = program.command('codec').description('create payload keys, decrypt payloads for the Web UI');
  codec
    .command('key <file>')
    .description('write a new key to a new file')
    .option('--json', 'print the path as JSON')
    .action((file: string, { json }: { json?: boolean }) => {
      makePayloadKey(file);
      const id = path.basename(file).replace(/\.[^.]*$/, '');
      printMessage(`add the key to the file in ${keysVariable}, keep its other keys, and run \`coevolve up\` again:`);
      printResult(json, { file: path.resolve(file) }, () =>
        ['current: <id>', 'keys:', '  <id>:', `    file: ${file}`].join('\n').replaceAll('<id>', id),
      );
    });
  codec
    .command('serve')
    .description('decrypt payloads for the Web UI until interrupted; prints its address')
    .option('--port <port>', 'port on 127.0.0.1 (default: any free port)', portOf, 0)
    .option('--origin <url>', "origin of the Web UI (default: the stack's Web UI)")
    .option('--json', 'print the address as JSON')
    .action(serve);
}

type ServeOptions = { port: number; origin?: string; json?: boolean };

async function serve({ port, origin, json }: ServeOptions): Promise<void> {
  const config = currentConfig();
  if (!config.payloadKeysFile)
    throw new UsageError(`${keysVariable} is not set: expected the path of a key file; docs/security.md shows one`);
  const keys = readPayloadKeys(config.payloadKeysFile);
  const origins = originsOf(config, origin);
  const server = await startCodecServer({ codec: payloadSeal(keys), origins, port });
  printMessage(`serving pages of ${origins.join(' and ')} until interrupted`);
  printMessage(
    'enter this address in the Web UI under "Data encoder" as the remote codec endpoint; keep it as secret as the keys:',
  );
  printResult(json, { url: server.url, origins }, () => server.url);
  await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
  await server.close();
}

/** Returns the origins of the Web UI; on this machine it has two: 127.0.0.1 and localhost. */
function originsOf({ temporal: { uiUrl } }: Config, given: string | undefined): string[] {
  const text = required(given ?? uiUrl, 'Web UI', 'COEVOLVE_TEMPORAL_UI_URL');
  if (!URL.canParse(text)) throw new UsageError(`--origin: found "${text}", expected http://<host>:<port>`);
  const { origin } = new URL(text);
  const other = origin.replace('//127.0.0.1', '//localhost');
  return origin === other ? [origin] : [origin, other];
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port: found "${text}", expected an integer in 0..65535`);
}
