import type { Command } from 'commander';
import pc from 'picocolors';
import { readConfig } from '../../config';
import type { Check } from '../../doctor/check';
import { asCalled } from '../base/called-name';
import { doctor } from '../../doctor/doctor';

/** `coevolve doctor`: prints every check; exit code 1 when a check fails. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check all services and tools that campaigns need')
    .option('--json', 'print the checks as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const checks = (await doctor(readConfig())).map(withCalledName);
      process.stdout.write(json ? `${JSON.stringify({ checks }, null, 2)}\n` : checks.map(lineOf).join(''));
      if (checks.some(({ ok }) => !ok)) process.exitCode = 1;
    });
}

const withCalledName = ({ detail, next, ...check }: Check): Check => ({
  ...{ ...check, detail: asCalled(detail) },
  ...(next ? { next: asCalled(next) } : {}),
});

function lineOf({ name, ok, absent, detail, next }: Check): string {
  const mark = absent ? pc.dim('none') : ok ? pc.green('ok  ') : pc.red('FAIL');
  return `${mark}  ${name.padEnd(30)} ${detail}\n${next ? `      ${pc.dim(`next: ${next}`)}\n` : ''}`;
}
