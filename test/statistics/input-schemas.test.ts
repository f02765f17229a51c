import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readConfig } from '../../src/config';
import { inputSchemas } from '../../src/statistics/input-schemas';

test('the Python package checks its inputs by the schemas that are declared here', () => {
  const file = path.join(readConfig().projectRoot, 'statistics/src/coevolve_statistics/inputs.json');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(inputSchemas());
});
