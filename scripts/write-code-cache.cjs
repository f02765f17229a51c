// Runs the program until it ends or its worker is ready, then writes the code cache of what ran. Called by
// bundle-program.mjs: node scripts/write-code-cache.cjs <name of the cache> <arguments of the program>
const { writeFileSync } = require('node:fs');
const path = require('node:path');
const threads = require('node:worker_threads');
const { bundleFile, runBundle } = require('../dist/process/run-bundle.js');

if (threads.isMainThread) {
  const [cache] = process.argv.splice(1, 2, path.resolve(__dirname, '../dist/cli/main.js')).slice(1);
  process.stdout.write = (text) => (text.includes(' is ready') ? process.exit() : true);
  threads.Worker = class extends threads.Worker {
    constructor() {
      super(__filename); // the thread of workflow code, which writes a cache too
    }
  };
  const program = runBundle('program', cache);
  process.once('exit', () => writeCache(cache, program));
} else {
  const port = threads.parentPort;
  const thread = runBundle('workflow-thread', 'workflow-thread');
  const post = port.postMessage;
  port.postMessage = (answer) => {
    writeCache('workflow-thread', thread); // the first answer: the workflow bundle is loaded
    port.postMessage = post;
    port.postMessage(answer);
  };
}

function writeCache(name, script) {
  writeFileSync(bundleFile(`${name}.cache`), script.createCachedData());
}
