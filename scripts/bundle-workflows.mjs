// Bundles the workflow code once, at build time: a worker then starts in a second instead of bundling for itself.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';

const dist = new URL('../dist/', import.meta.url);
const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('workflows/index.js', dist)),
  logger: new DefaultLogger('WARN'),
});
await writeFile(new URL('workflow-bundle.js', dist), code);
