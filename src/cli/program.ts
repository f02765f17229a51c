import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { addCommands } from './commands';
import { explain } from '../errors/explain';
import { calledName } from './output/called-name';
import { exitCodes, failureOf } from './failure';
import { print, printMessage } from './output/output';
import { keepOwnEnvironment } from '../process/own-environment';
import { withoutWorkflowForm } from './arguments/shown-ids';

keepOwnEnvironment(process.env);

const program = new Command(calledName())
  .description('training campaigns that evolve an LLM agent and its training data')
  .version(version())
  .configureOutput({ writeErr: (text) => printMessage(text.trimEnd()) })
  .addHelpText('after', () => `\nexit codes: 0 success, ${codeText()}`)
  .hook('preAction', (_program, command) => acceptWorkflowIds(command))
  .exitOverride();

// The reader of a pipe may close it early: `coevolve tasks ... | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

addCommands(program, process.argv[2])
  .then(() => nameOwnHelp(program))
  .then(() => program.parseAsync())
  .catch((error: unknown) => {
    if (!(error instanceof CommanderError)) printMessage(explain(error));
    else if (error.exitCode === 0) return; // the help or the version, already printed
    const failure = failureOf(error);
    process.exitCode = exitCodes[failure.kind];
    if (process.argv.includes('--json')) print(JSON.stringify(failure, null, 2));
  });

/** Accepts ids of workflows as names. */
function acceptWorkflowIds(command: Command): void {
  command.processedArgs = command.registeredArguments.map((argument, i) => {
    const nameOf = (value: unknown): unknown =>
      typeof value === 'string' ? withoutWorkflowForm(argument.name(), value) : value;
    const value: unknown = command.processedArgs[i];
    return Array.isArray(value) ? value.map(nameOf) : nameOf(value);
  });
}

/** Lets the errors of each command name the help of that command. */
function nameOwnHelp(command: Command, parents = ''): void {
  const name = `${parents}${command.name()}`;
  command.showHelpAfterError(`(see \`${name} --help\`)`);
  for (const subcommand of command.commands) nameOwnHelp(subcommand, `${name} `);
}

function version(): string {
  const file = path.resolve(__dirname, '../../package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

const codeText = (): string =>
  Object.entries(exitCodes)
    .map(([kind, code]) => `${code} ${kind}`)
    .join(', ');
