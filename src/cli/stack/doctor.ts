import type { Command } from 'commander';
import { printResult } from '../output/output';
import { paint } from '../../tables/terminal-text';
import type { Check } from '../../doctor/check';
import { asCalled } from '../output/called-name';
import { givenConfig } from '../../client/connections';
import { doctor } from '../../doctor/doctor';

/** `coevolve doctor`: prints every check; exit code 1 when a check fails. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check all services and tools that campaigns need')
    .option('--json', 'print the checks as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const checks = (await doctor(givenConfig())).map(withCalledName);
      printResult(json, { checks }, () => checks.map(checkLine).join('\n'));
      if (checks.some(({ ok }) => !ok)) process.exitCode = 1;
    });
}

const withCalledName = ({ detail, next, ...check }: Check): Check => ({
  ...check,
  detail: asCalled(detail),
  ...(next ? { next: asCalled(next) } : {}),
});

function checkLine({ name, ok, absent, warning, detail, next }: Check): string {
  const passed = absent ? paint.dim('none') : warning ? paint.yellow('warn') : paint.green('ok  ');
  const mark = ok ? passed : paint.red('FAIL');
  return `${mark}  ${name.padEnd(30)} ${detail}${next ? `\n      ${paint.dim(`next: ${next}`)}` : ''}`;
}
