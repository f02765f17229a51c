// Bundles the workflow code at build time, so that a worker starts in a second. There are two bundles, because the failure
// converter is part of a bundle and workers with COEVOLVE_PAYLOAD_KEYS encrypt failure messages.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';

const dist = new URL('../dist/', import.meta.url);
const fileOf = (name) => fileURLToPath(new URL(name, dist));
const bundles = {
  'workflow-bundle.js': {},
  'workflow-bundle-sealed.js': { failureConverterPath: fileOf('temporal/sealed-failures.js') },
};

for (const [name, converters] of Object.entries(bundles)) {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileOf('workflows/index.js'),
    workflowInterceptorModules: [fileOf('workflows/temporal/interceptors.js')],
    logger: new DefaultLogger('WARN'),
    ...converters,
  });
  await writeFile(fileOf(name), code);
}
