import { UsageError } from '../../errors/errors';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { readGivenFile } from '../../specification/read-spec-file';
import { readChange } from '../../specification/read-change';
import { unreadSettings, usedSettings } from '../../specification/used-settings';
import type { ChosenDefault } from '../../client/fit/environment-defaults';
import type { SpecChange } from '../../specification/spec-layers';
import { asCalled } from '../output/called-name';
import { chosenLine } from '../output/running-text';
import { printChosen } from '../output/print-chosen';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { estimateText } from './estimate-text';
import { printResult, printMessage } from '../output/output';
import { currentConfig, withConnections } from '../../client/connections';
import { estimateCampaign } from '../../client/estimate/estimate-campaign';
import { dryRun } from '../../client/check-spec';
import { chooseDefaults } from '../../client/choose-defaults';
import { startCampaign, type StartedCampaign } from '../../client/start-campaign';

type Options = { overlay: string[]; set: string[]; dryRun?: boolean; full?: boolean; json?: boolean };

/** `coevolve start <spec.yaml>`: starts a campaign, or joins it when it runs already. */
export function addStart(program: Command): void {
  program
    .command('start <spec>')
    .description('start the campaign of a YAML spec; safe to repeat')
    .option('--overlay <file...>', 'merge these files over the spec, such as a smaller size of it', [])
    .option('--set <change...>', 'replace values of the spec, such as rollouts.attempts=8', [])
    .option('--dry-run', 'only check the spec and estimate its cost')
    .option('--full', 'with --dry-run: print every setting, also unused ones')
    .option('--json', 'print the result as JSON')
    .action(async (file: string, { overlay, set, dryRun: isDryRun, full, json }: Options) => {
      const read = await readGivenFile(file, { overlays: overlay, changes: set.map(changeOf) });
      const { spec, chosen } = await chooseDefaults(currentConfig(), read);
      if (isDryRun) return await printDryRun(spec, chosen, { full, json });
      for (const one of chosen) printChosen(spec.environment.name, one);
      for (const setting of unreadSettings(spec)) printMessage(unreadLine(setting));
      await withConnections(async (connections) => {
        const { workflowId, outcome } = await startCampaign(
          connections,
          spec,
          (line) => printMessage(`not checked: ${line}`),
          (line) => printMessage(`warning: ${asCalled(line)}`),
        );
        printMessage(outcomeText(outcome, spec.name));
        printResult(json, { workflowId, outcome }, () => workflowId);
      });
    });
}

function changeOf(text: string): SpecChange {
  const read = readChange(text);
  if ('problem' in read) throw new UsageError(read.problem);
  return read;
}

/**
 * Prints the settings that the recipe reads, the estimate, the problems, and the settings that could not be checked or have no
 * effect. Exit code 1 if there are problems.
 */
async function printDryRun(
  spec: CampaignSpec,
  chosen: readonly ChosenDefault[],
  { full, json }: { full: boolean | undefined; json: boolean | undefined },
): Promise<void> {
  const config = currentConfig();
  const { problems, unchecked, warnings, needs } = await dryRun(config, spec);
  const expected = await estimateCampaign(config, spec);
  const unread = unreadSettings(spec);
  const found = problems.flatMap(({ message }) => asCalled(message).split('\n'));
  const lines = [
    ...needs.map((line) => `# memory: ${line}`),
    ...chosen.map((one) => `# ${chosenLine(spec.environment.name, one)}`),
    ...found.map((line) => `# problem: ${line}`),
    ...warnings.map((line) => `# warning: ${asCalled(line)}`),
    ...unchecked.map((line) => `# not checked: ${asCalled(line)}`),
    ...unread.map((setting) => `# ${unreadLine(setting)}`),
  ];
  const settings = stringify(full ? spec : usedSettings(spec), { aliasDuplicateObjects: false });
  printResult(
    json,
    { spec, estimate: expected, memory: needs, chosen, problems: found, warnings, unchecked, unread },
    () => [settings.trimEnd(), '', estimateText(expected), ...lines].join('\n'), // a terminal shows the end
  );
  if (problems.length > 0) process.exitCode = 1;
}

const unreadLine = (setting: string): string => `no effect: ${setting}: nothing of this campaign reads it`;

function outcomeText(outcome: StartedCampaign['outcome'], name: string): string {
  if (outcome === 'started') return `started; follow it with \`coevolve status ${name} --watch\``;
  if (outcome === 'joined') return `${name} runs already; follow it with \`coevolve status ${name} --watch\``;
  return `${name} has ended; see \`coevolve report ${name}\`, or start a campaign with another name`;
}
