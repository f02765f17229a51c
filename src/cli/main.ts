#!/usr/bin/env node
import { Command } from 'commander';
import { addCommands } from './commands';
import { explain } from './explain';
import { printMessage } from './base/output';

const program = new Command('coevolve')
  .description('training campaigns that evolve an LLM agent and its training data')
  .configureOutput({ writeErr: (text) => printMessage(text.trimEnd()) })
  .showHelpAfterError('(see `coevolve --help`)');

// The reader of a pipe may close it early: `coevolve tasks ... | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

addCommands(program, process.argv[2])
  .then(() => program.parseAsync())
  .catch((error: unknown) => {
    printMessage(explain(error));
    process.exitCode = 1;
  });
