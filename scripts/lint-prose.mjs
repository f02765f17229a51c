// Checks the language of comments and docstrings: counts stilted constructions per 1,000 comment lines in each part of the
// project. A part fails when one construction reaches the limit; its lines are then listed.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const limit = 5;
/** A released migration is never edited, not even its comments. */
const released = /^migrations\/0001_/;
const root = fileURLToPath(new URL('..', import.meta.url));
const parts = [
  'src',
  'test',
  'tools',
  'scripts',
  'bench',
  'trainer',
  'environments',
  'statistics',
  'exports',
  'python',
  'examples',
  'migrations',
];
const constructions = {
  'clause with "what" as a noun': /\bwhat (is|was|it|they|the|a|an|its|each|others|nobody|somebody|who|of)\b/gi,
  'of its own': /\bof (its|their|his) own\b/gi,
  'a person for a process': /\b(who|whom|whoever|nobody|somebody|everybody)\b/gi,
  'a thing that speaks': /\b(tell|tells|told|say|says|said|hear|hears|heard|ask|asks|asked)\b/gi,
  'those of, that of': /\b(those|that) of\b/gi,
  'a case as a fragment ("null: ...")': /\b(null|absent|undefined|none)`?: /gi,
  'an archaism': /\b(reckon\w*|anew|for want of|came about|furthest|lest|thereof|betimes|roll-out)\b/gi,
};

let failed = false;
for (const part of parts) {
  const lines = filesOf(part).flatMap(commentLines);
  for (const [name, pattern] of Object.entries(constructions)) {
    const found = lines.filter(({ text }) => text.match(pattern));
    const rate = (1000 * found.reduce((sum, { text }) => sum + text.match(pattern).length, 0)) / (lines.length || 1);
    if (rate < limit) continue;
    failed = true;
    process.stderr.write(`${part}: ${name}: ${rate.toFixed(1)} per 1,000 comment lines, expected below ${limit}\n`);
    for (const { file, number, text } of found.slice(0, 20))
      process.stderr.write(`  ${file}:${number} ${text.trim()}\n`);
  }
}
process.exitCode = failed ? 1 : 0;

function filesOf(part) {
  const listed = execFileSync('git', ['ls-files', '-z', '--', part], { cwd: root, encoding: 'utf8' }).split('\0');
  return listed.filter((file) => /\.(ts|mjs|cjs|py|sql)$/.test(file) && !released.test(file));
}

/** Returns the text of every comment line of a file; in Python, of docstrings too. */
function commentLines(file) {
  const comment = file.endsWith('.py')
    ? /#(.*)/
    : file.endsWith('.sql')
      ? /--(.*)/
      : /(?:^|\s)\/\/(.*)|\/\*\*?(.*)|^\s*\*(.*)/;
  let inDocstring = false;
  return readFileSync(path.join(root, file), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const quotes = file.endsWith('.py') ? (line.match(/"""/g)?.length ?? 0) : 0;
      const isDocstring = inDocstring || quotes > 0;
      if (quotes % 2 === 1) inDocstring = !inDocstring;
      const text = isDocstring
        ? line
        : comment
            .exec(line)
            ?.slice(1)
            .find((group) => group !== undefined);
      return text === undefined ? [] : [{ file, number: index + 1, text }];
    });
}
