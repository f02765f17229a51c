import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, messageOf, UsageError } from '../errors/errors';
import { decodeText } from '../input/decode-text';
import { isSection } from '../input/merge';
import { maxYamlBytes, withPosition } from '../input/parse-yaml';
import type { CampaignSpec } from './campaign-spec';
import { invalidSpec, parseLayer, readGivenLayers, type GivenSpec } from './read-spec';
import type { SpecChange, SpecLayer } from './spec-layers';

type Additions = {
  /** Files that are merged over the spec, in this order. */
  overlays?: readonly string[] | undefined;
  /** Values that replace values of the files. */
  changes?: readonly SpecChange[] | undefined;
};

/**
 * Reads a spec from a file or a pipe, with the files that it extends.
 *
 * @throws UsageError the file cannot be read
 * @throws DomainError `InvalidSpec`, see `readSpec`
 */
export const readSpecFile = async (file: string, additions: Additions = {}): Promise<CampaignSpec> =>
  (await readGivenFile(file, additions)).spec;

/** Reads a spec as `readSpecFile` does, and returns it beside the values of the files alone. */
export async function readGivenFile(file: string, { overlays = [], changes = [] }: Additions = {}): Promise<GivenSpec> {
  const layers: SpecLayer[] = [];
  for (const each of [file, ...overlays]) layers.push(...(await specLayers(each)));
  return readGivenLayers(layers, file, changes);
}

/** Returns the layers of a spec file, from the lowest. */
export const specLayers = (file: string): Promise<SpecLayer[]> => layersOf(file, []);

/**
 * Returns the layers of a file: first the files that it extends, then the file itself.
 *
 * @param above files that extend this one, from the highest
 */
async function layersOf(file: string, above: readonly string[]): Promise<SpecLayer[]> {
  const layer = parseLayer(await readText(file), file);
  if (!isSection(layer.value)) return [layer];
  const { extends: extended, ...value } = layer.value;
  const fail = (problem: string): never => {
    throw invalidSpec(above[0] ?? file, [`${above.length > 0 ? `${file}, ` : ''}${withPosition(problem, layer)}`]);
  };
  const names = [extended ?? []].flat();
  const layers: SpecLayer[] = [];
  for (const name of names) {
    if (typeof name !== 'string')
      return fail(`extends: found ${JSON.stringify(name)}, expected a file or a list of files`);
    const base = fileBeside(file, name);
    const chain = [...above, file];
    if (chain.some((each) => path.resolve(each) === path.resolve(base)))
      return fail(`extends: found "${name}", expected no loop: ${[...chain, base].join(' extends ')}`);
    if (!(await isFile(base))) return fail(`extends: found "${name}", expected a file: ${base} is none`);
    layers.push(...(await layersOf(base, chain)));
    if (layers.length > maxLayers) return fail(`extends: found more than ${maxLayers} files, expected fewer`);
  }
  return [...layers, { ...layer, value }];
}

const maxLayers = 100;

/** Returns the path of a file that another one names: an absolute path, or one relative to the file's folder. */
export const fileBeside = (file: string, name: string): string =>
  path.isAbsolute(name) ? name : path.join(path.dirname(file), name);

const isFile = async (file: string): Promise<boolean> =>
  stat(file).then(
    (found) => found.isFile(),
    () => false,
  );

export async function readText(file: string): Promise<string> {
  return readStart(file, maxYamlBytes + 1).catch((error: unknown) => {
    throw new UsageError(`${file}: ${problems[codeOf(error) ?? ''] ?? messageOf(error)}`, { cause: error });
  });
}

const problems: Partial<Record<string, string>> = {
  ENOENT: 'file not found; examples/ has specs to start from',
  EISDIR: 'found a folder, expected the YAML file of a spec',
  ELOOP: 'found a link to itself, expected the YAML file of a spec',
  EACCES: 'permission denied, expected a file that this user may read',
};

/** Reads at most `maxBytes`: a device may have no end. */
async function readStart(file: string, maxBytes: number): Promise<string> {
  await using handle = await open(file);
  const bytes = Buffer.alloc(maxBytes);
  let length = 0;
  for (let read = -1; read !== 0 && length < maxBytes; length += read)
    ({ bytesRead: read } = await handle.read(bytes, length, maxBytes - length, null));
  return length === maxBytes ? bytes.toString() : decodeText(bytes.subarray(0, length), file); // the former is too long
}
