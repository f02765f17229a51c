import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';

const folder = resolve(__dirname, '../../src/domain');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

test.each(files)('%s reads no clock, no unseeded random number and no module outside src/domain', (file) => {
  const source = readFileSync(join(folder, file), 'utf8');

  expect(source).not.toMatch(/Math\.random|\bDate\b|performance\.|crypto\.|process\.|require\(/);
  for (const [, imported] of source.matchAll(/from '([^']+)'/g)) {
    expect(imported).toMatch(/^\./);
    expect(resolve(folder, dirname(file), imported!).startsWith(folder + sep)).toBe(true);
  }
});
