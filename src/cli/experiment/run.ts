import { resolve } from 'node:path';
import type { Command } from 'commander';
import { writeAtomically } from '../../files/atomic-write';
import { analyzeExperiment } from '../../client/experiments/analyze-experiment';
import { followExperiment } from '../../client/experiments/experiment-status';
import { planExperiment } from '../../client/experiments/plan-experiment';
import { startFile } from '../../client/experiments/start-file';
import { currentConfig, withConnections } from '../../client/connections';
import { renderExperiment } from '../../report/experiment';
import { loadForEnvironment } from '../../client/experiments/load-for-environment';
import { printChosen } from '../output/print-chosen';
import { print, printMessage, printResult } from '../output/output';
import { analysisJson, analysisText } from './analysis-text';
import { planText } from './plan-text';
import { printProgress } from './status';

type Options = { profile?: string; amend?: boolean; json?: boolean };

/** `coevolve experiment run <file>`: plans, freezes, starts, follows and analyses an experiment. */
export function addRun(group: Command): void {
  group
    .command('run <file>')
    .description('plan, freeze, play and analyse an experiment, and write its report; safe to repeat')
    .option('--profile <name>', 'size of the experiment: one of its profiles')
    .option('--amend', 'freeze a changed file although cells have begun')
    .option('--json', 'print the analysis as JSON')
    .action(runExperiment);
}

/** A second call joins the running experiment, or analyses the finished one again. */
async function runExperiment(file: string, { profile, amend = false, json }: Options): Promise<void> {
  const loaded = await loadForEnvironment(currentConfig(), file, { profile, onChosen: printChosen });
  const { name } = loaded.experiment;
  await withConnections(async (connections) => {
    printMessage(planText(await planExperiment(connections.config, loaded.experiment)));
    const onUnchecked = (line: string): void => printMessage(`not checked: ${line}`);
    const { outcome, version } = (await startFile(connections, loaded, { amend, onUnchecked })).frozen;
    printMessage(`${outcome}: ${name} version ${version}`);
    await followExperiment(connections, name, printProgress);
    const report = await analyzeExperiment(connections, name, { at: null, exploratory: false });
    printResult(json, analysisJson(report), () => analysisText(report));
    const page = resolve(`${name}.html`);
    await writeAtomically(page, renderExperiment(report));
    if (!json) print(`report: ${page}`);
  });
}
