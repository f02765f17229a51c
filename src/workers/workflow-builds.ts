import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import { writeAtomically } from '../files/atomic-write';
import { retry } from '../requests/retry';

/** Workflow code with the hash of its content: a deployment version in Temporal. */
type WorkflowBuild = { buildId: string; codePath: string };

const deploymentName = 'coevolve';

/** Connection for reading and setting Temporal's deployment versions. */
export type Deployment = { connection: Pick<NativeConnection, 'workflowService'>; namespace: string };

/** temporal.api.enums.v1.VersionDrainageStatus: no open workflow is pinned to the version. */
const drained = 2;
/** gRPC status of a version that was never polled. */
const notFound = 5;

/**
 * Returns the options of the workers of a versioned process: one for the bundle, then one per older build with pinned
 * iterations. Workflows keep the build of their start, and continue as new with the current build.
 *
 * @param folder of the stored builds, shared by the workflow workers of this machine
 */
export async function versionedWorkers(
  deployment: Deployment,
  folder: string,
  bundle: string,
): Promise<VersionedWorker[]> {
  const newest = await keepBuild(folder, bundle);
  return [newest, ...(await olderBuildsInUse(deployment, folder, newest))].map(workerOf);
}

type VersionedWorker = Required<Pick<WorkerOptions, 'workflowBundle' | 'workerDeploymentOptions'>>;

const workerOf = ({ buildId, codePath }: WorkflowBuild): VersionedWorker => ({
  workflowBundle: { codePath },
  workerDeploymentOptions: {
    version: { deploymentName, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'PINNED',
  },
});

/** Copies a bundle to a file named after its hash, because the original is replaced by the next build. */
async function keepBuild(folder: string, codePath: string): Promise<WorkflowBuild> {
  const code = await readFile(codePath, 'utf8');
  const buildId = createHash('sha256').update(code).digest('hex').slice(0, 16);
  await mkdir(folder, { recursive: true });
  const kept = { buildId, codePath: path.join(folder, `${buildId}.js`) };
  await writeAtomically(kept.codePath, code);
  return kept;
}

/**
 * Returns the stored builds except `newest` with pinned iterations, and deletes the unused ones. An iteration ends with
 * the build of its start, so a worker has to poll for it until then.
 */
async function olderBuildsInUse(
  deployment: Deployment,
  folder: string,
  newest: WorkflowBuild,
): Promise<WorkflowBuild[]> {
  const kept = (await readdir(folder)).filter((file) => file.endsWith('.js')).map((file) => file.slice(0, -3));
  const inUse: WorkflowBuild[] = [];
  for (const buildId of kept.filter((id) => id !== newest.buildId).sort()) {
    const codePath = path.join(folder, `${buildId}.js`);
    if (await isInUse(deployment, buildId)) inUse.push({ buildId, codePath });
    else await rm(codePath, { force: true });
  }
  return inUse;
}

async function isInUse({ connection, namespace }: Deployment, buildId: string): Promise<boolean> {
  try {
    const { workerDeploymentVersionInfo: info } = await connection.workflowService.describeWorkerDeploymentVersion({
      namespace,
      deploymentVersion: { deploymentName, buildId },
    });
    return Number(info?.drainageInfo?.status) !== drained;
  } catch (error) {
    if ((error as { code?: unknown }).code === notFound) return false;
    throw error;
  }
}

/**
 * Makes a build the current version of the deployment, with which campaigns start and continue as new. Temporal accepts
 * only a build that a worker currently polls for.
 *
 * @throws the server's error after one minute
 */
export async function makeCurrent({ connection, namespace }: Deployment, buildId: string): Promise<void> {
  const setVersion = () =>
    connection.workflowService.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName,
      buildId,
      identity: 'coevolve',
      ignoreMissingTaskQueues: true, // roles other than `workflow` are not versioned
    });
  await retry(setVersion, { shouldRetry: () => true, timeoutMs: 60_000, firstMs: 250 });
}
