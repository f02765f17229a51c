import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config';
import { readSpec } from '../../specification/read-spec';
import { stackDown, stackStatus } from '../../stack';
import { bringUpStack } from '../../client/bring-up-stack';
import { runCheck } from '../../client/campaign-run';
import { followCampaign } from '../../client/follow-campaign';
import { calledName } from '../output/called-name';
import { followOutput } from '../output/follow-output';
import { duration, interval, rate } from '../../domain/formats';
import { print, printResult, printMessage } from '../output/output';
import { paint } from '../../tables/terminal-text';
import { collectReport } from '../../report/campaign/campaign-report';
import { learnedText } from './learned-text';
import { givenConfig, withConnections, type Connections } from '../../client/connections';
import { runSetup } from '../../process/run-setup';
import { startCampaign } from '../../client/start-campaign';

const specFile = 'examples/quickstart.yaml';

/** `coevolve quickstart`: starts the stack, runs a small campaign and prints its scores and its report's path. */
export function addQuickstart(program: Command): void {
  program
    .command('quickstart')
    .description('run a small campaign on the embedded stack; installs Python packages first if they are missing')
    .option('--keep', 'keep the stack running afterwards; one that ran before is always kept')
    .option('--json', 'print the result as JSON')
    .action(async ({ keep, json }: { keep?: boolean; json?: boolean }) => {
      const config = givenConfig();
      const started = performance.now();
      const stays = keep === true || stackStatus(config).some(({ state }) => state === 'running');
      if (!existsSync(config.python)) await runSetup(config.projectRoot, []);
      printMessage(paint.bold('starting the stack'));
      try {
        const filled = await bringUpStack(process.env, { onProgress: printMessage });
        await withConnections((connections) => runCampaign(connections, filled, { started, json }), filled);
      } finally {
        if (stays) printMessage(`the stack keeps running; stop it with ${paint.bold(`${calledName()} down`)}`);
        else await stackDown(config);
      }
    });
}

async function runCampaign(
  connections: Connections,
  config: Config,
  { started, json }: { started: number; json: boolean | undefined },
): Promise<void> {
  const { store, artifacts, pool } = connections;
  const text = await readFile(path.join(config.projectRoot, specFile), 'utf8');
  const spec = { ...readSpec(text, specFile), name: await freeName(connections) };
  const { campaignId, workflowId } = await startCampaign(connections, spec);
  const ui = config.temporal.uiUrl;
  printMessage(`campaign ${paint.bold(spec.name)}: ${spec.recipe} on ${spec.environment.name}, spec ${specFile}`);
  if (ui)
    printMessage(
      `Temporal UI: ${ui}/namespaces/${config.temporal.namespace}/workflows/${encodeURIComponent(workflowId)}`,
    );
  if (config.pageUrl)
    printMessage(`page: ${config.pageUrl}/c/${spec.name} (token: ${path.join(config.home, 'secrets/api-read-token')})`);

  const status = await followCampaign(connections, spec.name, {
    ...followOutput(spec.name),
    check: runCheck(connections, spec.name),
  });
  const { evaluations } = store;
  const stored = [...(await evaluations.list(campaignId)), ...(await evaluations.listReported(campaignId))];
  const scores = stored.map(({ evaluationSet: set, iteration, successes, tasks, successLow, successHigh }) => ({
    set,
    iteration,
    success: successes / tasks,
    low: successLow,
    high: successHigh,
    tasks,
  }));
  const report = artifacts.reportPath(spec.name);
  const { outcome } = await collectReport(pool, campaignId);
  const { evaluationSet, pairedTasks, paired } = outcome;
  const learned = paired && { set: evaluationSet, tasks: pairedTasks, ...paired };
  const seconds = (performance.now() - started) / 1000;
  printResult(json, { campaign: spec.name, status, scores, learned, report, seconds }, () => '');
  if (json) return;
  for (const { set, iteration, success, low, high, tasks } of scores)
    print(
      `success on ${set.padEnd(4)} ${iteration === 0 ? 'after the supervised start' : `after iteration ${iteration}         `}  ` +
        `${rate(success)}  (95% ${interval(low, high)}, ${tasks} tasks)`,
    );
  for (const sentence of learnedText(outcome)) print(sentence);
  print('One seed: these figures speak of these checkpoints on these tasks, not of the method.');
  print(`report: ${report}`);
  printMessage(paint.dim(`done in ${duration(seconds)}`));
}

/** Returns the first free name of quickstart-1, quickstart-2, ...: every call starts a new campaign. */
async function freeName({ store }: Connections): Promise<string> {
  const used = new Set((await store.campaigns.list()).map(({ name }) => name));
  let number = 1;
  while (used.has(`quickstart-${number}`)) number += 1;
  return `quickstart-${number}`;
}
