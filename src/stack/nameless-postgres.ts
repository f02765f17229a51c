import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Names of functions of the C library, as the table of a program's imports holds them. */
const [asked, answered] = ['\0getpwuid\0', '\0getpwent\0'].map((name) => Buffer.from(name, 'latin1')) as [
  Buffer,
  Buffer,
];

/**
 * Makes programs that create a cluster under a user id without a name, as containers have it, and returns their folder.
 * Both `initdb` and the server that it starts only want some name: their copies ask for the first user of the machine
 * instead of their own (decision 72). Returns undefined where the programs are built differently.
 *
 * @param native folder with `bin/initdb`, `bin/postgres` and what they read, which is linked
 * @param folder new folder for the copies
 */
export function namelessPrograms(native: string, folder: string): string | undefined {
  const programs = ['initdb', 'postgres'].map((name) => ({ name, code: readFileSync(path.join(native, 'bin', name)) }));
  if (programs.some(({ code }) => !code.includes(asked))) return undefined;
  mkdirSync(path.join(folder, 'bin'), { recursive: true, mode: 0o700 });
  for (const { name, code } of programs) {
    code.write(answered.toString('latin1'), code.indexOf(asked), 'latin1');
    writeFileSync(path.join(folder, 'bin', name), code, { mode: 0o700 });
  }
  for (const name of readdirSync(native))
    if (name !== 'bin') symlinkSync(path.join(native, name), path.join(folder, name));
  return folder;
}
