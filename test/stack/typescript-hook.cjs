// Lets a plain `node -r` process load this project's TypeScript, as jest does.
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

require.extensions['.ts'] = (module, filename) => {
  const options = { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } };
  // oxlint-disable-next-line no-underscore-dangle -- Node's own name
  module._compile(transformSync(readFileSync(filename, 'utf8'), { filename, ...options }).code, filename);
};
