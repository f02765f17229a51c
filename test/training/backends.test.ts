import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { backendNames } from '../../src/training/backends';

const source = path.resolve(__dirname, '../../src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

/** `local` is an ordinary word too. */
test.each(backendNames.filter((name) => name !== 'local'))(
  'only its folder and the list of backends know %s by its name',
  (name) => {
    const own = (file: string): boolean => file.startsWith(`training/${name}/`) || file === 'training/backends.ts';
    const mentions = files.filter((file) => readFileSync(path.join(source, file), 'utf8').toLowerCase().includes(name));
    expect(mentions.filter(own)).not.toEqual([]);
    expect(mentions.filter((file) => !own(file))).toEqual([]);
  },
);
