import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import { writeAtomically } from '../artifacts/artifact-store';

/** Workflow code under the hash of its content: what Temporal calls a version of the deployment. */
type WorkflowBuild = { buildId: string; codePath: string };

const deploymentName = 'coevolve';

/** Where Temporal's versions are asked for and set. */
export type Deployment = { connection: Pick<NativeConnection, 'workflowService'>; namespace: string };

/** temporal.api.enums.v1.VersionDrainageStatus: no open workflow is pinned to the version any more. */
const drained = 2;
/** gRPC status of a version that no worker ever polled for. */
const notFound = 5;

/**
 * Options of the workers that a versioned process runs: first the one for the bundle, then one for every older build that
 * an iteration is still pinned to. Workflows stay with the build that they began with, and continue as new with the current.
 *
 * @param folder where builds are kept, which other workflow workers of this machine share
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

/** Keeps a copy of a bundle under its content's name: the folder it came from may hold another one tomorrow. */
async function keepBuild(folder: string, codePath: string): Promise<WorkflowBuild> {
  const code = await readFile(codePath, 'utf8');
  const buildId = createHash('sha256').update(code).digest('hex').slice(0, 16);
  await mkdir(folder, { recursive: true });
  const kept = { buildId, codePath: path.join(folder, `${buildId}.js`) };
  await writeAtomically(kept.codePath, code);
  return kept;
}

/**
 * The kept builds that iterations are still pinned to, beside `newest`; builds that nothing needs any more are deleted.
 * An iteration that began with one of them ends with it, so its worker must go on polling for it.
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

const patienceMs = 60_000;

/**
 * Makes a build the one that campaigns begin with, and go over to when they continue as new. Temporal knows of a build
 * only when a worker polls for it: call this while one does.
 *
 * @throws Error of the server when it refuses for a minute
 */
export async function makeCurrent({ connection, namespace }: Deployment, buildId: string): Promise<void> {
  for (const deadline = Date.now() + patienceMs; ;) {
    try {
      await connection.workflowService.setWorkerDeploymentCurrentVersion({
        ...{ namespace, deploymentName, buildId, identity: 'coevolve' },
        ignoreMissingTaskQueues: true, // roles other than `workflow` are not versioned
      });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(250);
    }
  }
}
