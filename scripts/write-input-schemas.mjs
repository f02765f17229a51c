// Writes the JSON Schemas of the inputs of coevolve_statistics into its package. Needs the build: `npm run build` first.
import { writeFileSync } from 'node:fs';
import { inputSchemas } from '../dist/statistics/input-schemas.js';

const target = new URL('../statistics/src/coevolve_statistics/inputs.json', import.meta.url);
writeFileSync(target, `${JSON.stringify(inputSchemas(), null, 2)}\n`);
