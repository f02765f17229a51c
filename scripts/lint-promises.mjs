// Checks that each promise has a test. The promises are the numbered list of README.md and the numbered rows of the pages
// below; docs/promises.md names their tests by file and title. Each row needs one that `npm test` runs, not
// `npm run test:all` alone (test/support/lane.ts). Reads the repository, or the folder that is given as argument.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from '@swc/core';

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const proofPage = 'docs/promises.md';
const pages = { 'README.md': listedRows, 'docs/durability.md': tableRows, 'docs/security.md': tableRows };
const lanesOfFiles = new Map();
const problems = [...unknownSections(), ...Object.keys(pages).flatMap(problemsOf)];
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

function unknownSections() {
  return [...read(proofPage).matchAll(/^## (.+)$/gm)]
    .filter(([, page]) => !(page in pages))
    .map(([, page]) => `${proofPage}: found a section ${page}, expected one of ${Object.keys(pages).join(', ')}`);
}

function problemsOf(page) {
  const rows = pages[page](read(page));
  const proofs = proofsOf(page);
  return [
    ...rows.flatMap((found, index) =>
      found === String(index + 1) ? [] : [`${page}: found row ${found}, expected row ${index + 1}`],
    ),
    ...rows.filter((row) => !proofs.has(row)).map((row) => `${proofPage}: row ${row} of ${page} has no proof`),
    ...[...proofs.keys()]
      .filter((row) => !rows.includes(row))
      .map((row) => `${proofPage}: row ${row} does not exist in ${page}`),
    ...[...proofs].flatMap(([row, tests]) => problemsOfProof(`${proofPage}: row ${row} of ${page}`, tests)),
  ];
}

function problemsOfProof(label, tests) {
  if (tests.length === 0) return [`${label} names no test, expected a file and a title`];
  const unknown = tests.flatMap(({ file, title }) => {
    if (!existsSync(path.join(root, file))) return [`${label}: ${file} does not exist`];
    return lanesOf(file).has(title) ? [] : [`${label}: ${file} has no test "${title}"`];
  });
  if (unknown.length > 0 || tests.some(({ file, title }) => lanesOf(file).get(title) === 'short')) return unknown;
  const list = tests.map(({ file, title }) => `\n  ${file}: ${title}`).join('');
  return [`${label}: \`npm run test:all\` alone runs its tests, expected one that \`npm test\` runs too:${list}`];
}

/** Returns the numbers in the list of promises; an entry without a number is a row `-`. */
function listedRows(text) {
  const list = /^\*\*What it promises\.\*\*[^]*?(?=^## )/m.exec(text)?.[0] ?? '';
  return [...list.matchAll(/^(?:(\d+)\.|-) /gm)].map(([, number]) => number ?? '-');
}

/** Returns the first cells of all tables whose first column is `#`. */
function tableRows(text) {
  const tables = text.matchAll(/^\| # +\|.*\n.*\n((?:\|.*\n)*)/gm);
  return [...tables].flatMap(([, rows]) => [...rows.matchAll(/^\| *(.*?) *\|/gm)].map(([, cell]) => cell || '-'));
}

/** Returns row -> tests, each with file and title, of a page's section. */
function proofsOf(page) {
  const section =
    read(proofPage)
      .split(/^## /m)
      .find((part) => part.startsWith(`${page}\n`)) ?? '';
  const items = `${section}\n\n`.matchAll(/^(\d+)\. ([^]+?)(?=^\d+\. |\n\n)/gm);
  return new Map([...items].map(([, row, text]) => [row, namedTests(text)]));
}

function namedTests(text) {
  let file = '';
  return [...text.replaceAll(/\s+/g, ' ').matchAll(/`([^`]+)`/g)].flatMap(([, name]) => {
    if (!/^[\w/.-]+\.(test\.ts|py)$/.test(name)) return [{ file, title: name }];
    file = name;
    return [];
  });
}

function read(file) {
  return existsSync(path.join(root, file)) ? readFileSync(path.join(root, file), 'utf8') : '';
}

/** Returns title -> `short` if `npm test` runs the test, and `long` if `npm run test:all` alone does. */
function lanesOf(file) {
  if (!lanesOfFiles.has(file)) {
    lanesOfFiles.set(file, file.endsWith('.py') ? pythonLanes(read(file)) : typescriptLanes(read(file)));
  }
  return lanesOfFiles.get(file);
}

function typescriptLanes(source) {
  const lanes = new Map();
  const words = new Map(['test', 'testOfAll', 'describe', 'describeOfAll'].map((word) => [word, word]));

  /** Returns the word that a call declares tests with, also through `.each(...)`, a condition or a name for one. */
  const wordOf = (node) => {
    switch (node?.type) {
      case 'Identifier':
        return words.get(node.value);
      case 'MemberExpression':
        return ['skip', 'todo'].includes(node.property.value) && wordOf(node.object) ? 'skipped' : wordOf(node.object);
      case 'CallExpression':
        return wordOf(node.callee);
      case 'TaggedTemplateExpression':
        return wordOf(node.tag);
      case 'ParenthesisExpression':
        return wordOf(node.expression);
      case 'ConditionalExpression': {
        const word = wordOf(node.consequent);
        return word && node.test.value === 'runsAll' ? `${word}OfAll` : word;
      }
      default:
        return undefined;
    }
  };

  const visit = (node, outerLane) => {
    if (node === null || typeof node !== 'object') return;
    let lane = outerLane;
    if (node.type === 'VariableDeclarator' && wordOf(node.init)) words.set(node.id.value, wordOf(node.init));
    const word = node.type === 'CallExpression' ? wordOf(node.callee) : undefined;
    if (word === 'skipped') return;
    if (word?.endsWith('OfAll')) lane = 'long';
    const title = word?.startsWith('test') ? textOf(node.arguments[0]?.expression) : undefined;
    if (title !== undefined && lanes.get(title) !== 'short') lanes.set(title, lane);
    for (const child of Object.values(node)) visit(child, lane);
  };

  visit(parseSync(source, { syntax: 'typescript' }).body, 'short');
  return lanes;
}

/** Returns a title in one line, as {@link namedTests} does. */
function textOf(node) {
  const text = node?.type === 'TemplateLiteral' ? node.quasis.map(({ cooked }) => cooked).join('${}') : node?.value;
  return typeof text === 'string' ? text.replaceAll(/\s+/g, ' ') : undefined;
}

/** Returns the same for Python: a mark at the function, its class or its file. Decorators have no empty line between them. */
function pythonLanes(source) {
  const mark = 'pytest.mark.of_all';
  const ofFile = /^pytestmark = (\[[^\]]*\]|.*)/m.exec(source)?.[1].includes(mark) ?? false;
  const lines = source.split('\n');
  const isMarked = (index) => {
    const start = lines.slice(0, index).findLastIndex((line) => line.trim() === '' || line.startsWith('class '));
    return lines.slice(start + 1, index).some((line) => line.includes(`@${mark}`));
  };
  const lanes = new Map();
  let inMarkedClass = false;
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('class ')) inMarkedClass = isMarked(index);
    const [, indent, title] = /^(\s*)(?:async )?def (test_\w+)\(/.exec(line) ?? [];
    if (title === undefined) continue;
    const isLong = ofFile || isMarked(index) || (indent !== '' && inMarkedClass);
    if (lanes.get(title) !== 'short') lanes.set(title, isLong ? 'long' : 'short');
  }
  return lanes;
}
