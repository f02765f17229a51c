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
import { printResult, say } from '../base/output';
import { currentConfig, withSession } from '../../client/session';
import { startCampaign } from '../../client/start-campaign';

/** `coevolve start <spec.yaml>` starts a campaign, or joins it when it already runs. */
export function addStart(program: Command): void {
  program
    .command('start <spec>')
    .description('start the campaign that a YAML spec describes; safe to repeat')
    .option('--dry-run', 'print the resolved spec and what it will cost, and start nothing')
    .option('--json', 'print the result as JSON')
    .action(async (path: string, { dryRun, json }: { dryRun?: boolean; json?: boolean }) => {
      const text = await readFile(path, 'utf8').catch(() => {
        throw new UsageError(`${path}: no such file; examples/ has specs to start from`);
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
        say(told[outcome](spec.name));
        printResult(json, { workflowId, outcome }, () => workflowId);
      });
    });
}

const told = {
  started: (name: string) => `started; follow it with \`coevolve status ${name} --watch\``,
  joined: (name: string) => `${name} runs already; follow it with \`coevolve status ${name} --watch\``,
  ended: (name: string) => `${name} has ended; see \`coevolve report ${name}\`, or start another under a new name`,
} as const;

/** Of the imported model that the spec names; null where it has none, or none that is imported yet. */
async function parametersOf({ policy }: CampaignSpec): Promise<number | null> {
  if (policy.source !== 'imported') return null;
  const models = await listModels(artifactStore(currentConfig().artifacts));
  return models.find(({ name }) => name === policy.model)?.parameters ?? null;
}
