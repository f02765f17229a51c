// Bundles the script of the page (src/server/page/browser/).
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const fileOf = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

await build({
  entryPoints: [fileOf('src/server/page/browser/page.ts')],
  outfile: fileOf('dist/server/page/browser.js'),
  bundle: true,
  minify: true,
  legalComments: 'none',
});
