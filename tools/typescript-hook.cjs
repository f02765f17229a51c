// Loads the project's TypeScript in a plain Node process: `node -r ./tools/typescript-hook.cjs <file>.ts`.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { transformSync } = require('@swc/core');

/* oxlint-disable no-underscore-dangle -- Node's own names */
require.extensions['.ts'] = (module, filename) => {
  const options = { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } };
  module._compile(transformSync(readFileSync(filename, 'utf8'), { filename, ...options }).code, filename);
};

// A dynamic import names the compiled file, `./x.js`; its source is `./x.ts`.
const resolve = Module._resolveFilename;
Module._resolveFilename = function resolveSource(request, parent, ...rest) {
  const isSource = /^\..*\.js$/.test(request) && parent?.filename?.endsWith('.ts');
  return resolve.call(this, isSource ? request.replace(/\.js$/, '.ts') : request, parent, ...rest);
};
