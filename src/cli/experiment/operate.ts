import type { Command } from 'commander';
import { sendExperimentCommand, type ExperimentCommand } from '../../client/experiments/experiment-run';
import { withConnections } from '../../client/connections';
import type { ExperimentState } from '../../domain/experiment/progress';
import { printResult } from '../output/output';

const descriptions: Record<ExperimentCommand, string> = {
  pause: 'start no further cell; running campaigns continue',
  resume: 'continue a paused experiment',
  stop: 'end an experiment after its running cells',
};

type Options = { reason?: string; arm?: string; json?: boolean };

/** `coevolve experiment pause|resume|stop <name>`: each is safe to repeat. */
export function addOperate(group: Command): void {
  for (const [verb, description] of Object.entries(descriptions) as [ExperimentCommand, string][]) {
    const command = group.command(`${verb} <name>`).description(description);
    if (verb === 'stop') command.option('--arm <arm>', 'end this arm alone');
    command
      .option('--reason <text>', 'reason shown beside the status')
      .option('--json', 'print the new state as JSON')
      .action((name: string, { reason, arm, json }: Options) =>
        withConnections(async (connections) => {
          const state = await sendExperimentCommand(connections, name, verb, { reason, arm });
          printResult(json, state, () => stateText(state));
        }),
      );
  }
}

function stateText({ name, status, stopping, stopped, running }: ExperimentState): string {
  const end = stopping ? `, ends after ${running.length} running cells` : '';
  return `${name}: ${status}${end}${stopped.length === 0 ? '' : `, stopped arms: ${stopped.join(', ')}`}`;
}
