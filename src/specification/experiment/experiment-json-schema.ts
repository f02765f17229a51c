import { editorSchema, type JsonSchema } from '../spec-schema';
import { experimentSchema } from './experiment-schema';

/** Returns the JSON Schema of an experiment, for editors. `coevolve experiment plan` also checks its specs and its rules. */
export const experimentJsonSchema = (): JsonSchema => ({
  title: 'experiment of coevolve; docs/experiments.md explains every field',
  ...editorSchema(experimentSchema),
});
