import { UsageError } from '../../base/errors';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { readSpec } from '../../spec/read-spec';
import { artifactStore } from '../../artifacts/artifact-store';
import { listModels } from '../../artifacts/imported-models';
import type { CampaignSpec } from '../../spec/campaign-spec';
import { estimate } from '../../spec/estimate';
import { estimateText } from './estimate-text';
import { printResult, printMessage } from '../base/output';
import { currentConfig, withSession } from '../../client/session';
import { startCampaign, type StartedCampaign } from '../../client/start-campaign';

/** `coevolve start <spec.yaml>`: starts a campaign, or joins it when it runs already. */
export function addStart(program: Command): void {
  program
    .command('start <spec>')
    .description('start the campaign of a YAML spec; safe to repeat')
    .option('--dry-run', 'only print the resolved spec and its estimated cost')
    .option('--json', 'print the result as JSON')
    .action(async (path: string, { dryRun, json }: { dryRun?: boolean; json?: boolean }) => {
      const text = await readFile(path, 'utf8').catch(() => {
        throw new UsageError(`${path}: file not found; examples/ has specs to start from`);
      });
      const spec = readSpec(text, path);
      if (dryRun) {
        const expected = estimate(spec, await parametersOf(spec));
        printResult(
          json,
          { spec, estimate: expected },
          () => `${stringify(spec, { aliasDuplicateObjects: false })}\n${estimateText(expected)}`,
        );
        return;
      }
      await withSession(async (session) => {
        const { workflowId, outcome } = await startCampaign(session, spec);
        printMessage(outcomeText(outcome, spec.name));
        printResult(json, { workflowId, outcome }, () => workflowId);
      });
    });
}

function outcomeText(outcome: StartedCampaign['outcome'], name: string): string {
  if (outcome === 'started') return `started; follow it with \`coevolve status ${name} --watch\``;
  if (outcome === 'joined') return `${name} runs already; follow it with \`coevolve status ${name} --watch\``;
  return `${name} has ended; see \`coevolve report ${name}\`, or start a campaign with another name`;
}

/** Returns the parameter count of the spec's imported model; null without an imported model. */
async function parametersOf({ policy }: CampaignSpec): Promise<number | null> {
  if (policy.source !== 'imported') return null;
  const models = await listModels(artifactStore(currentConfig().artifacts));
  return models.find(({ name }) => name === policy.model)?.parameters ?? null;
}
