import type { Command } from 'commander';
import { specJsonSchema } from '../../spec/spec-schema';
import { print } from '../base/output';

/** `coevolve schema`: prints the JSON Schema of a spec for the completion and the checks of an editor. */
export function addSchema(program: Command): void {
  program
    .command('schema')
    .description('print the JSON Schema of a spec, for editors')
    .option('--json', 'print JSON, as without the option')
    .action(() => print(JSON.stringify(specJsonSchema())));
}
