import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(__dirname, '../../src/domain');
const files = readdirSync(folder);

test.each(files)('%s knows no clock, no chance but the seeded one, and no module outside the domain', (file) => {
  const source = readFileSync(join(folder, file), 'utf8');

  expect(source).not.toMatch(/Math\.random|\bDate\b|performance\.|crypto\.|process\.|require\(/);
  for (const [, imported] of source.matchAll(/from '([^']+)'/g)) expect(imported).toMatch(/^\.\/[\w-]+$/);
});
