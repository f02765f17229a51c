import { Argument, type Command } from 'commander';
import { print } from '../output/output';

const shells = ['bash', 'zsh', 'fish'] as const;

/** `coevolve completion <shell>`: prints a script that completes commands and options of `coevolve`. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>').choices(shells))
    .option('--json', 'print the script as a JSON string')
    .action((shell: (typeof shells)[number], { json }: { json?: boolean }) => {
      const script = shell === 'fish' ? fishScript(program) : bashScript(program, shell);
      print(json ? JSON.stringify(script) : script);
    });
}

/** zsh runs the same script through its emulation of bash's completion. */
function bashScript(program: Command, shell: 'bash' | 'zsh'): string {
  const cases = program.commands.map((command) => `    ${command.name()}) words="${wordsOf(command).join(' ')}" ;;`);
  return [
    ...(shell === 'zsh' ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_coevolve() {',
    `  local words="${program.commands.map((command) => command.name()).join(' ')}"`,
    '  [ "$COMP_CWORD" -gt 1 ] && case "${COMP_WORDS[1]}" in',
    ...cases,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    'complete -o default -F _coevolve coevolve',
  ].join('\n');
}

function fishScript(program: Command): string {
  const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
  return program.commands
    .flatMap((command) => [
      `complete -c coevolve -n __fish_use_subcommand -a ${command.name()} -d ${quoted(command.description())}`,
      ...command.commands.map(
        (inner) =>
          `complete -c coevolve -n '__fish_seen_subcommand_from ${command.name()}' -a ${inner.name()} -d ${quoted(inner.description())}`,
      ),
      ...command.options.map(
        (option) =>
          `complete -c coevolve -n '__fish_seen_subcommand_from ${command.name()}' -l ${option.name()} -d ${quoted(option.description)}`,
      ),
    ])
    .join('\n');
}

/** Names of the subcommands and the options of a command and its subcommands. */
const wordsOf = (command: Command): string[] => [
  ...new Set([
    ...command.commands.map((inner) => inner.name()),
    ...[command, ...command.commands].flatMap(({ options }) => options.map((option) => `--${option.name()}`)),
  ]),
];
