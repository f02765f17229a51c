import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';

const projectRoot = path.resolve(__dirname, '../..');

/** Hash of the bundles and of the workflow code, which changes with every change of the built program. */
export const versionFile = path.join(projectRoot, 'dist', 'bundle', 'version');

/**
 * Runs a bundle of scripts/bundle-program.mjs with V8's code cache: the process neither finds a thousand files nor
 * compiles them. V8 refuses a cache of another version or with other flags; the bundle is then compiled.
 *
 * @param cache name of the code cache; each has the functions that one kind of command uses at its start
 * @returns the compiled bundle
 */
export function runBundle(name: string, cache: string): vm.Script {
  const file = bundleFile(`${name}.js`);
  const cacheFile = bundleFile(`${cache}.cache`);
  const script = new vm.Script(readFileSync(file, 'latin1'), {
    filename: file,
    ...(existsSync(cacheFile) ? { cachedData: readFileSync(cacheFile) } : {}),
  });
  const run = script.runInThisContext() as RunBundle;
  run({}, createRequire(file), (module) => import(module), locate);
  return script;
}

/** Parameters of the function that encloses a bundle; `import()` inside of a `vm.Script` needs a flag of Node. */
type RunBundle = (
  exports: object,
  require: NodeJS.Require,
  load: (module: string) => Promise<unknown>,
  locateFile: (file: string) => string,
) => void;

/**
 * Returns the path of a file by its path in the clone where the bundle was built. npm installs the packages of a package
 * beside it.
 */
function locate(file: string): string {
  const own = path.join(projectRoot, file);
  return existsSync(own) ? own : path.join(projectRoot, '..', path.relative('/node_modules', file));
}

/**
 * Returns the path of a file of the bundle. The version in its name keeps a bundle from a cache of another build: V8
 * compares only their lengths.
 */
export function bundleFile(name: string): string {
  return path.join(path.dirname(versionFile), `${readFileSync(versionFile, 'utf8')}.${name}`);
}
