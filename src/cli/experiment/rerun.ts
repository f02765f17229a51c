import type { Command } from 'commander';
import { checkRerun, rerunCell, type CheckedRerun, type RerunCell } from '../../client/experiments/rerun-cell';
import { withSession } from '../../client/session';
import { followOutput } from '../base/follow-output';
import { printMessage, printResult, shortHash } from '../base/output';

type Options = { check?: boolean; json?: boolean };

/** `coevolve experiment rerun <cell>` */
export function addRerun(group: Command): void {
  group
    .command('rerun <cell>')
    .description('play a finished cell again from its manifest')
    .option('--check', 'wait and compare the content hashes (exit code 1 if different)')
    .option('--json', 'print the result as JSON')
    .action((cell: string, { check, json }: Options) =>
      withSession(async (session) => {
        const rerun = await rerunCell(session, cell);
        printMessage(`plays ${cell} again as ${rerun.rerun}`);
        const result = check ? await checkRerun(session, rerun, followOutput(rerun.rerun)) : rerun;
        if ('equal' in result && !result.equal) process.exitCode = 1;
        printResult(json, result, () => rerunText(result));
      }),
    );
}

function rerunText(result: RerunCell | CheckedRerun): string {
  if (!('equal' in result)) return result.rerun;
  if (result.equal) return `content hash ${shortHash(result.found)}: equal to that of ${result.campaign}`;
  return (
    `content hash ${shortHash(result.found)}: DIFFERENT from ${shortHash(result.expected)} of ${result.campaign}` +
    (result.differing ? ` in ${result.differing.join(', ')}` : '') +
    (result.equalStart
      ? '; '
      : ', and so is the policy that the supervised start trained: a processor of another kind rounds differently; ') +
    `\`coevolve hash ${result.rerun}\` and \`coevolve hash ${result.campaign}\` show the parts`
  );
}
