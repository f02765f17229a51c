// Checks the structure of src/: no folder has more than 30 files, and imports between folders and between files form no
// circle. In Python, imports between packages and between files form no circle either. Imports inside of functions and of
// types alone count. Checks also that docs/ has no page that a report command generates. Reads the repository, or the folder
// that is given as argument.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const maxFiles = 30;
const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const files = filesIn(path.join(root, 'src'), '.ts');
const pythonSources = ['trainer/src', 'environments/src', 'statistics/src', 'exports/src', 'python/src'].map((name) =>
  path.join(root, name),
);
const pythonFiles = pythonSources.flatMap((source) => filesIn(source, '.py'));
const pythonArrows = pythonFiles.flatMap((file) => pythonImportsOf(file).map((target) => [file, target]));
const tsArrows = files.flatMap((file) => importsOf(file).map((target) => [file, target]));
const problems = [
  ...overfullFolders(),
  ...circles('folders', tsArrows, path.dirname),
  ...circles('files', tsArrows, (file) => file),
  ...circles('packages', pythonArrows, packageOf),
  ...circles('files', pythonArrows, (file) => file),
  ...generatedPages(),
];
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

function filesIn(folder, ending) {
  return readdirSync(folder, { recursive: true })
    .map((name) => path.join(folder, String(name)))
    .filter((name) => name.endsWith(ending));
}

function overfullFolders() {
  const folders = [...new Set(files.map((file) => path.dirname(file)))];
  return folders
    .map((folder) => ({ folder, count: files.filter((file) => path.dirname(file) === folder).length }))
    .filter(({ count }) => count > maxFiles)
    .map(({ folder, count }) => `${nameOf(folder)}: found ${count} files, expected at most ${maxFiles}`);
}

/** Returns one line per circle of units, such as folders, with an import for each of its arrows. */
function circles(units, imports, unitOf) {
  const arrows = new Map(); // unit -> imported unit -> one import as text
  for (const [file, target] of imports) {
    const [from, to] = [unitOf(file), unitOf(target)];
    if (from === to) continue;
    if (!arrows.has(from)) arrows.set(from, new Map());
    arrows.get(from).set(to, `${nameOf(file)} imports ${nameOf(target)}`);
  }
  return stronglyConnected(arrows)
    .filter((group) => group.length > 1)
    .map((group) => {
      const inside = group.flatMap((from) => group.flatMap((to) => arrows.get(from)?.get(to) ?? []));
      return `circle of ${units} ${group.map(nameOf).sort().join(', ')}:\n  ${inside.join('\n  ')}`;
    });
}

function importsOf(file) {
  const text = readFileSync(file, 'utf8');
  const specifiers = [...text.matchAll(/(?:from |import\(|import )'(\.[^']+)'/g)].map((match) => match[1]);
  return specifiers.map((specifier) => resolve(path.resolve(path.dirname(file), specifier.replace(/\.js$/, ''))));
}

function resolve(base) {
  const isFile = statSync(`${base}.ts`, { throwIfNoEntry: false })?.isFile();
  return isFile ? `${base}.ts` : path.join(base, 'index.ts');
}

/** Returns the files that a Python file imports: modules, and modules named after `from <package> import`. */
function pythonImportsOf(file) {
  const text = readFileSync(file, 'utf8');
  const statements = [...text.matchAll(/^ *from ([.\w]+) import (\([^)]*\)|[^\n#]+)/gm)].map(([, module, names]) => [
    module,
    [...names.matchAll(/(\w+)(?: as \w+)?/g)].map(([, name]) => name),
  ]);
  const plain = [...text.matchAll(/^ *import ([.\w]+)/gm)].map(([, module]) => [module, []]);
  return [...statements, ...plain].flatMap(([module, names]) => {
    const [, dots, rest] = /^(\.*)(.*)$/.exec(module);
    const starts = dots ? [path.resolve(path.dirname(file), '../'.repeat(dots.length - 1))] : pythonSources;
    const bases = starts.map((start) => path.join(start, rest.replaceAll('.', '/')));
    const modules = bases.flatMap((base) => names.map((name) => path.join(base, `${name}.py`)));
    const found = modules.filter((name) => pythonFiles.includes(name));
    const whole = bases.flatMap((base) => [`${base}.py`, path.join(base, '__init__.py')]);
    return found.length > 0 ? found : whole.filter((name) => pythonFiles.includes(name));
  });
}

/** Returns the folder of a file's top package. */
function packageOf(file) {
  const source = pythonSources.find((name) => file.startsWith(`${name}/`));
  return path.join(source, path.relative(source, file).split('/')[0]);
}

function nameOf(name) {
  return path.relative(root, name);
}

/** Tarjan's algorithm. */
function stronglyConnected(arrows) {
  const [index, low, stack, groups] = [new Map(), new Map(), [], []];
  const visit = (node) => {
    index.set(node, index.size);
    low.set(node, index.get(node));
    stack.push(node);
    for (const next of arrows.get(node)?.keys() ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node), low.get(next)));
    }
    if (low.get(node) !== index.get(node)) return;
    groups.push(stack.splice(stack.indexOf(node)));
  };
  for (const node of arrows.keys()) if (!index.has(node)) visit(node);
  return groups;
}

/** A page is generated again from its table, and every version of it would stay in each clone. */
function generatedPages() {
  const pages = filesIn(path.join(root, 'docs'), '.html');
  return pages.map(
    (page) => `${nameOf(page)}: found a generated page in docs/, expected the table that it is made from`,
  );
}
