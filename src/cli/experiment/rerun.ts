import type { Command } from 'commander';
import { checkRerun, rerunCell, type CheckedRerun, type RerunCell } from '../../client/experiments/rerun-cell';
import { withConnections } from '../../client/connections';
import { asCalled } from '../output/called-name';
import { followOutput } from '../output/follow-output';
import { shortHash } from '../../domain/formats';
import { printMessage, printResult } from '../output/output';

type Options = { check?: boolean; json?: boolean };

/** `coevolve experiment rerun <cell>` */
export function addRerun(group: Command): void {
  group
    .command('rerun <cell>')
    .description('play a finished cell again from its manifest')
    .option('--check', 'wait and compare content hash and scores (exit code 1 if different)')
    .option('--json', 'print the result as JSON')
    .action((cell: string, { check, json }: Options) =>
      withConnections(async (connections) => {
        const rerun = await rerunCell(connections, cell);
        printMessage(`plays ${cell} again as ${rerun.rerun}`);
        const result = check ? await checkRerun(connections, rerun, followOutput(rerun.rerun)) : rerun;
        if ('equal' in result && !result.equal) process.exitCode = 1;
        printResult(json, result, () => asCalled(rerunText(result)));
      }),
    );
}

function rerunText(result: RerunCell | CheckedRerun): string {
  if (!('equal' in result)) return result.rerun;
  const { campaign, rerun, expected, found, differingScores } = result;
  const scores = differingScores === 0 ? 'all scores are equal' : `${differingScores} scores of the long table DIFFER`;
  if (found === expected) return `content hash ${shortHash(found)}: equal to that of ${campaign}; ${scores}`;
  return (
    `content hash ${shortHash(found)}: DIFFERENT from ${shortHash(expected)} of ${campaign}` +
    (result.differing ? ` in ${result.differing.join(', ')}` : '') +
    `; ${scores}` +
    (result.equalStart
      ? '; '
      : '; the supervised start trained another policy: a processor of another kind rounds differently; ') +
    `\`coevolve hash ${rerun}\` and \`coevolve hash ${campaign}\` show the parts`
  );
}
