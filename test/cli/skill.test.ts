import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { addCommands } from '../../src/cli/commands';
import { exitCodes } from '../../src/cli/failure';

const skill = readFileSync(path.resolve(__dirname, '../../docs/skill.md'), 'utf8');

test('every command and option of the skill file exists', async () => {
  const program = new Command();
  await addCommands(program, undefined);
  const calls = [...skill.matchAll(/npx coevolve ([^`\n#]+)/g)].map(([, words]) => words!.trim().split(/[\s,]+/));
  expect(calls.length).toBeGreaterThan(20);
  for (const words of calls) {
    if (words[0]!.startsWith('<')) continue; // `<command> --help`
    const command = program.commands.find((one) => one.name() === words[0]);
    const found = command?.commands.find((sub) => sub.name() === words[1]) ?? command;
    expect({ words, found: found !== undefined }).toEqual({ words, found: true });
    const known = found!.options.map(({ long }) => long);
    expect(known).toEqual(expect.arrayContaining(words.filter((word) => word.startsWith('--'))));
  }
});

test('the skill file has every exit code', () => {
  const codes = [...skill.matchAll(/^\| (\d) +\|/gm)].map(([, code]) => Number(code));
  expect(codes).toEqual([0, ...Object.values(exitCodes)]);
});

test('the skill file names only reasons for which a campaign parks', () => {
  const reasons = readFileSync(path.resolve(__dirname, '../../docs/parked.md'), 'utf8');
  const table = skill.split('## A parked campaign')[1]!.split('##')[0]!;
  const cells = [...table.matchAll(/^\| (.*?) \|/gm)].slice(2).map(([, cell]) => cell!);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([A-Z][\w.*-]+)`/g)].map(([, code]) => code!));
  expect(named.length).toBeGreaterThan(8);
  for (const code of named) expect(reasons).toContain(`\`${code.replace('*', '')}`);
});
