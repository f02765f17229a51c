import type { Command } from 'commander';
import { experimentJsonSchema } from '../../specification/experiment/experiment-json-schema';
import { specJsonSchema } from '../../specification/spec-schema';
import { print } from '../output/output';

/** `coevolve schema`: prints the JSON Schema of a spec or of an experiment for the completion and the checks of an editor. */
export function addSchema(program: Command): void {
  program
    .command('schema')
    .description('print the JSON Schema of a spec, for editors')
    .option('--experiment', 'of the file of an experiment')
    .option('--json', 'print JSON, as without the option')
    .action(({ experiment }: { experiment?: boolean }) =>
      print(JSON.stringify(experiment ? experimentJsonSchema() : specJsonSchema())),
    );
}
