import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(__dirname, '../../src/domain');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

test.each(files)('%s knows no clock, no chance but the seeded one, and no module outside the domain', (file) => {
  const source = readFileSync(join(folder, file), 'utf8');

  expect(source).not.toMatch(/Math\.random|\bDate\b|performance\.|crypto\.|process\.|require\(/);
  const upwards = file.includes('/') ? String.raw`(\.|\.\.)` : String.raw`\.`;
  for (const [, imported] of source.matchAll(/from '([^']+)'/g))
    expect(imported).toMatch(new RegExp(String.raw`^${upwards}(/[\w-]+){1,2}$`));
});
