import type { Command } from 'commander';
import { sendExperimentCommand } from '../../client/experiments/experiment-run';
import { withConnections } from '../../client/connections';
import {
  experimentCommands,
  type ExperimentCommand,
  type ExperimentCommandName,
} from '../../domain/experiment/operator-commands';
import type { ExperimentState } from '../../domain/experiment/progress';
import { printResult } from '../output/output';

type Options = { reason?: string; arm?: string; json?: boolean };

/** `coevolve experiment pause|resume|stop <name>`: each is safe to repeat. */
export function addOperate(group: Command): void {
  for (const verb of Object.keys(experimentCommands) as ExperimentCommandName[]) {
    const { description, ofArm }: ExperimentCommand = experimentCommands[verb];
    const command = group.command(`${verb} <name>`).description(description);
    if (ofArm) command.option('--arm <arm>', ofArm);
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
