import { Argument, type Command, type Option } from 'commander';
import { print } from '../output/output';

const shells = ['bash', 'zsh', 'fish'] as const;

/** `coevolve completion <shell>`: prints a script that completes commands, options, their values, campaigns, experiments and environments. */
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
  const cases = program.commands.map((command) => `    ${command.name()}) ${wordsCode(command)} ;;`);
  return [
    ...(shell === 'zsh' ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    `_coevolve_names() { ${namesCode('"$@"')}; }`,
    '_coevolve() {',
    `  local words="${program.commands.map((command) => command.name()).join(' ')}"`,
    '  local word="${COMP_WORDS[COMP_CWORD]}" last="${COMP_WORDS[COMP_CWORD-1]}"',
    '  [ "$COMP_CWORD" -gt 1 ] && case "${COMP_WORDS[1]}" in',
    ...cases,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
    '}',
    'complete -o default -F _coevolve coevolve',
  ].join('\n');
}

/** Assigns the words of a command: the values of the option before the cursor, or names, subcommands and options. */
function wordsCode(command: Command): string {
  const values = optionsOf(command).flatMap((option) =>
    option.argChoices
      ? [`--${option.name()}) words="${option.argChoices.join(' ')}"`]
      : option.name() === 'environment'
        ? ['--environment) words="$(_coevolve_names env list)"']
        : [],
  );
  const listing = listingOf(command);
  const names = listing ? ` [[ "$word" != -* ]] && words+=" $(_coevolve_names ${listing})";` : '';
  const words = `words="${wordsOf(command).join(' ')}";${names}`;
  return values.length === 0 ? words : `case "$last" in ${[...new Set(values), `*) ${words}`].join(' ;; ')} ;; esac`;
}

/** Prints the names that a listing command knows; nothing where no stack answers. */
const namesCode = (listing: string): string =>
  `coevolve ${listing} --json 2>/dev/null | sed -n 's/^    "name": "\\(.*\\)",$/\\1/p'`;

/** Returns the command that lists the names that a command takes; undefined for a command without one. */
function listingOf(command: Command): string | undefined {
  const listings: Record<string, string> = { env: 'env list', experts: 'env list', experiment: 'experiment status' };
  const campaigns = ['campaign', 'campaigns', 'policy', 'origin'];
  const found = [command, ...command.commands].flatMap(({ registeredArguments }) => registeredArguments);
  return (
    listings[command.name()] ?? (found.some((argument) => campaigns.includes(argument.name())) ? 'list' : undefined)
  );
}

function fishScript(program: Command): string {
  const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
  return program.commands
    .flatMap((command) => {
      const within = `complete -c coevolve -n '__fish_seen_subcommand_from ${command.name()}'`;
      const listing = listingOf(command);
      return [
        `complete -c coevolve -n __fish_use_subcommand -a ${command.name()} -d ${quoted(command.description())}`,
        ...command.commands.map((inner) => `${within} -a ${inner.name()} -d ${quoted(inner.description())}`),
        ...(listing ? [`${within} -a ${quoted(`(${namesCode(listing)})`)}`] : []),
        ...command.options.map((option) => {
          const choices = option.argChoices ? ` -x -a ${quoted(option.argChoices.join(' '))}` : '';
          return `${within} -l ${option.name()}${choices} -d ${quoted(option.description)}`;
        }),
      ];
    })
    .join('\n');
}

const optionsOf = (command: Command): Option[] => [command, ...command.commands].flatMap(({ options }) => [...options]);

/** Names of the subcommands and the options of a command and its subcommands. */
const wordsOf = (command: Command): string[] => [
  ...new Set([
    ...command.commands.map((inner) => inner.name()),
    ...optionsOf(command).map((option) => `--${option.name()}`),
  ]),
];
