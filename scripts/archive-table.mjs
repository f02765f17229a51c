// Packs an exported table for docs/experiments/archives: `node scripts/archive-table.mjs <name>.jsonl`. Brotli with a window
// of 16 MiB finds the tasks that the cells share: the ten tables of 0.1.0 take 1.7 MB, and 14.3 MB with gzip. Equal tables
// give equal bytes.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

const [file] = process.argv.slice(2);
const table = readFileSync(file);
const target = new URL(`../docs/experiments/archives/${path.basename(file)}.br`, import.meta.url);
const params = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  [constants.BROTLI_PARAM_SIZE_HINT]: table.length,
};
writeFileSync(target, brotliCompressSync(table, { params }));
process.stderr.write(`wrote ${fileURLToPath(target)}\n`);
