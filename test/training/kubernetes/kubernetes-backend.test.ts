import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactStore, type ArtifactStore } from '../../../src/artifacts/artifact-store';
import { checkCluster } from '../../../src/training/kubernetes/check-cluster';
import { kubernetesBackend } from '../../../src/training/kubernetes/kubernetes-backend';
import type { KubernetesSettings } from '../../../src/training/kubernetes/kubernetes-settings';
import type { TrainingBackend, TrainingJob } from '../../../src/training/training-backend';
import { selfSigned } from './certificate';
import { startFakeCluster, type FakeCluster, type FakeJob } from './fake-cluster';

const projectRoot = path.resolve(__dirname, '../../..');
let root: string;
let artifacts: ArtifactStore;
let cluster: FakeCluster;
beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-kubernetes-'));
  artifacts = artifactStore(root);
  cluster = await startFakeCluster();
});
afterEach(async () => {
  await cluster.stop();
  rmSync(root, { recursive: true });
});

const settings: KubernetesSettings = {
  ...{
    image: 'registry.example/coevolve:1',
    claim: 'artifacts',
    python: '/app/.venv/bin/python',
    cpu: '2',
    memory: '8Gi',
  },
  ...{
    gpuResource: 'nvidia.com/gpu',
    nodeSelector: { gpu: 'h100' },
    env: { NCCL_DEBUG: 'WARN' },
    serviceAccount: 'trainer',
  },
  ...{ keepSeconds: 3600, imagePullMinutes: 10 },
  template: path.join(projectRoot, 'deploy/kubernetes/training-job.yaml'),
};

/** A worker that knows nothing of the one before. */
const aBackend = (changes: Partial<KubernetesSettings> = {}): TrainingBackend =>
  kubernetesBackend({ ...settings, ...changes }, artifacts, root, cluster.credentials);

const jobKey = 'campaign/x/iteration/0/train/target';

const job = (changes: Partial<TrainingJob> = {}): TrainingJob => ({
  ...{ jobKey, method: 'sft', base: null, reference: null, dataset: null, trainerState: null, seed: 1 },
  ...{ settings: { epochs: 1, processes: 2, threads: 3 }, gpus: 2, ...changes },
});

/** What a trainer writes. */
const tell = (status: object): void =>
  writeFileSync(path.join(artifacts.jobPath(jobKey), 'status.json'), JSON.stringify(status));

const state = async (): Promise<string> => (await aBackend().status(jobKey)).state;
const status = () => aBackend().status(jobKey);

const terminated = (reason: string, exitCode: number) => ({
  containerStatuses: [{ state: { terminated: { reason, exitCode } } }],
});
const waiting = (reason: string) => ({
  phase: 'Pending',
  containerStatuses: [{ state: { waiting: { reason, message: 'so it is' } } }],
});

describe('against a fake API server (no cluster was to be had)', () => {
  test('a job is a Job: its command, its GPUs, its claim at the path of the artifacts, and no second try', async () => {
    await aBackend().submit(job());
    const [made] = cluster.jobs;
    expect(made!.metadata.name).toMatch(/^coevolve-campaign-x-iteration-0-train-target-[0-9a-f]{12}$/);
    expect(made!.spec).toMatchObject({ backoffLimit: 0, ttlSecondsAfterFinished: 3600 });
    const { spec } = made!.spec.template;
    expect(spec).toMatchObject({
      ...{ restartPolicy: 'Never', nodeSelector: { gpu: 'h100' }, serviceAccountName: 'trainer' },
      containers: [
        {
          image: 'registry.example/coevolve:1',
          resources: { limits: { cpu: '2', memory: '8Gi', 'nvidia.com/gpu': '2' } },
          env: expect.arrayContaining([
            { name: 'OMP_NUM_THREADS', value: '3' },
            { name: 'NCCL_DEBUG', value: 'WARN' },
          ]),
          volumeMounts: expect.arrayContaining([{ name: 'artifacts', mountPath: root }]),
        },
      ],
      volumes: expect.arrayContaining([{ name: 'artifacts', persistentVolumeClaim: { claimName: 'artifacts' } }]),
    });
    expect(spec.containers[0]!.command.join(' ')).toBe(
      `/app/.venv/bin/python -m torch.distributed.run --standalone --nproc-per-node 2 -m coevolve_trainer run ${artifacts.jobPath(jobKey)}`,
    );
  });

  test('a job that is submitted again and by several workers is one Job', async () => {
    await Promise.all([aBackend().submit(job()), aBackend().submit(job())]);
    await aBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
    expect(cluster.requests.filter((route) => route === 'POST jobs')).toHaveLength(1);
  });

  test('a worker that is lost between the Job and its answer leaves one Job, which is its own', async () => {
    cluster.trouble({ route: 'POST jobs', lost: true });
    await expect(aBackend().submit(job())).rejects.toMatchObject({ name: 'BackendError', kind: 'retry' });
    await aBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
    await expect(state()).resolves.toBe('running');
  });

  test('an answer that says AlreadyExists is success when the Job has our hash', async () => {
    await aBackend().submit(job());
    cluster.trouble({ route: 'GET jobs', status: 404 }); // as if it had been made right after the look
    await aBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
    expect(cluster.requests.filter((route) => route === 'POST jobs')).toHaveLength(2);
  });

  test('a Job of the same name that runs for another stack is left alone, and refused by its name', async () => {
    await aBackend().submit(job());
    cluster.jobs[0]!.metadata.annotations['coevolve.dev/spec-sha256'] = 'f'.repeat(64);
    await expect(state()).resolves.toBe('absent');
    await expect(aBackend().submit(job())).rejects.toMatchObject({
      ...{ kind: 'refused', message: expect.stringContaining(cluster.jobs[0]!.metadata.name) },
    });
    await aBackend().cancel(jobKey);
    expect(cluster.jobs).toHaveLength(1);
    expect(cluster.requests).not.toContain('DELETE jobs');
  });

  test('a job waits while it has no pod, no room, or its image comes; then it runs, as its files tell', async () => {
    await aBackend().submit(job());
    await expect(status()).resolves.toMatchObject({ state: 'running', waiting: 'there is no pod yet' });
    const unschedulable = {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/3 nodes have 2 GPUs',
    };
    cluster.pod({ phase: 'Pending', conditions: [unschedulable] });
    await expect(status()).resolves.toMatchObject({
      state: 'running',
      waiting: expect.stringMatching(/Unschedulable: 0\/3 nodes/),
    });
    cluster.pod(waiting('ImagePullBackOff'));
    await expect(status()).resolves.toMatchObject({ waiting: expect.stringContaining('ImagePullBackOff: so it is') });
    cluster.pod({ phase: 'Running' });
    tell({ state: 'running', step: 4, total_steps: 10, loss: 0.5 });
    const running = await status();
    expect(running).toMatchObject({ state: 'running', step: 4, totalSteps: 10, progress: { loss: 0.5 } });
    expect(running).not.toHaveProperty('waiting');
  });

  test('a Job that is complete has succeeded when the trainer says so, and its policy is at its place', async () => {
    await aBackend().submit(job());
    cluster.pod({ phase: 'Succeeded' });
    cluster.end('Complete');
    tell({ state: 'succeeded', policy_hash: 'a'.repeat(64), tokens: 5, seconds: 2 });
    await expect(status()).resolves.toMatchObject({
      ...{ state: 'succeeded', policyHash: 'a'.repeat(64), policyPath: path.join(artifacts.jobPath(jobKey), 'policy') },
    });
    cluster.jobs.length = 0; // its time to live is over
    await expect(state()).resolves.toBe('succeeded');
    await aBackend().submit(job());
    expect(cluster.jobs).toEqual([]);
  });

  const disruptions = [
    { disruption: 'evicted', pod: { phase: 'Failed', reason: 'Evicted' } },
    { disruption: 'lost with its node', pod: { phase: 'Failed', reason: 'NodeLost' } },
    {
      disruption: 'preempted',
      pod: {
        phase: 'Failed',
        conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }],
      },
    },
    { disruption: 'killed in the middle', pod: { phase: 'Failed', ...terminated('Error', 137) } },
  ];

  test.each(disruptions)(
    'a pod that was $disruption leaves an absent job, which is submitted again as a new Job',
    async ({ pod }) => {
      await aBackend().submit(job());
      const first = cluster.jobs[0]!.metadata.uid;
      tell({ state: 'running', step: 4, total_steps: 10 });
      cluster.pod(pod);
      cluster.end('Failed', 'BackoffLimitExceeded');
      await expect(status()).resolves.toEqual({ state: 'absent' });
      await aBackend().submit(job());
      expect(cluster.jobs.map(({ metadata }) => metadata.uid)).toEqual([expect.not.stringMatching(first)]);
      await expect(status()).resolves.toMatchObject({ state: 'running', step: 4, waiting: 'there is no pod yet' });
    },
  );

  const failures = [
    {
      what: 'ran out of memory',
      type: 'out-of-memory',
      pod: { phase: 'Failed', ...terminated('OOMKilled', 137) },
      ends: true,
    },
    { what: 'has an image that is no name', type: 'bad-pod', pod: waiting('InvalidImageName'), ends: false },
    { what: 'lacks a config map', type: 'bad-pod', pod: waiting('CreateContainerConfigError'), ends: false },
    {
      what: 'finds no job at its mount',
      type: 'bad-input',
      pod: { phase: 'Failed', ...terminated('Error', 2) },
      ends: true,
    },
  ];

  test.each(failures)(
    'a pod that $what has failed as $type, and is replaced when it is submitted again',
    async ({ type, pod, ends }) => {
      await aBackend().submit(job());
      cluster.pod(pod);
      if (ends) cluster.end('Failed', 'BackoffLimitExceeded');
      await expect(status()).resolves.toMatchObject({ state: 'failed', failure: { type } });
      await aBackend().submit(job());
      expect(cluster.jobs).toHaveLength(1);
      await expect(state()).resolves.toBe('running');
    },
  );

  test('an image that cannot be pulled for long has failed; one that fails for a moment waits', async () => {
    await aBackend().submit(job());
    const pod = cluster.pod(waiting('ErrImagePull'));
    await expect(state()).resolves.toBe('running');
    pod.metadata.creationTimestamp = new Date(Date.now() - 11 * 60_000).toISOString();
    await expect(status()).resolves.toMatchObject({
      ...{
        state: 'failed',
        failure: { type: 'image-pull', message: expect.stringContaining('ErrImagePull: so it is') },
      },
    });
  });

  test("the trainer's own failure is told as it is, and a stalled or cancelled trainer goes on when submitted again", async () => {
    await aBackend().submit(job());
    cluster.pod({ phase: 'Failed', ...terminated('Error', 4) });
    cluster.end('Failed', 'BackoffLimitExceeded');
    tell({ state: 'failed', failure: { type: 'diverged', message: 'the loss is nan' } });
    await expect(status()).resolves.toMatchObject({ state: 'failed', failure: { type: 'diverged' } });
    for (const type of ['stalled', 'cancelled']) {
      tell({ state: 'failed', failure: { type, message: '' } });
      await expect(state()).resolves.toBe('absent');
    }
  });

  test('a job that is cancelled stays until its pod has checkpointed, and is created anew after that', async () => {
    await aBackend().submit(job());
    cluster.pod({ phase: 'Running' });
    await aBackend().cancel(jobKey);
    await expect(status()).resolves.toMatchObject({ state: 'running', waiting: 'it is being deleted' });
    cluster.sweep();
    tell({ state: 'failed', failure: { type: 'cancelled', message: 'SIGTERM' } });
    await expect(state()).resolves.toBe('absent');
    await aBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
  });

  test('a Job that failed and is still being deleted is waited for by a retry', async () => {
    await aBackend().submit(job());
    cluster.end('Failed', 'BackoffLimitExceeded');
    cluster.jobs[0]!.metadata.deletionTimestamp = new Date().toISOString();
    await expect(aBackend().submit(job())).rejects.toMatchObject({
      kind: 'retry',
      message: expect.stringContaining('deleted'),
    });
  });

  test('the log is that of the newest pod of this Job, and empty while there is none', async () => {
    await expect(aBackend().logs(jobKey)).resolves.toBe('');
    await aBackend().submit(job());
    await expect(aBackend().logs(jobKey)).resolves.toBe('');
    cluster.pod({ phase: 'Failed', reason: 'Evicted' }, 'of the first');
    cluster.end('Failed');
    await aBackend().submit(job());
    cluster.pod({ phase: 'Running' }, 'of the second');
    await expect(aBackend().logs(jobKey)).resolves.toBe('of the second');
  });

  test.each([
    { code: 500, kind: 'retry', retryAfterMs: undefined },
    { code: 503, kind: 'retry', retryAfterMs: undefined },
    { code: 429, kind: 'retry', retryAfterMs: 7000 },
    { code: 403, kind: 'refused', retryAfterMs: undefined },
    { code: 422, kind: 'refused', retryAfterMs: undefined },
  ])('an API server that answers $code is a boundary failure: $kind', async ({ code, kind, retryAfterMs }) => {
    for (const route of ['POST jobs', 'GET jobs']) {
      cluster.trouble({ route, status: code, ...(retryAfterMs ? { headers: { 'retry-after': '7' } } : {}) });
      await expect(aBackend().submit(job())).rejects.toMatchObject({ name: 'BackendError', kind, retryAfterMs });
    }
    await aBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
  });

  test('a wrong token is refused, saying what to check and not the token', async () => {
    const credentials = { ...cluster.credentials, token: () => Promise.resolve('wrong-token') };
    const refused = kubernetesBackend(settings, artifacts, root, credentials).submit(job());
    await expect(refused).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('check the token'),
    });
    await expect(refused).rejects.toMatchObject({ message: expect.not.stringContaining('wrong-token') });
  });

  test('a server whose certificate is of another authority is refused before a token is sent', async () => {
    const credentials = { ...cluster.credentials, ca: selfSigned().certificate };
    await expect(kubernetesBackend(settings, artifacts, root, credentials).status(jobKey)).rejects.toMatchObject({
      ...{ kind: 'refused', message: expect.stringContaining('check the authority') },
    });
    expect(cluster.requests).toEqual([]);
  });

  test('a check says where Jobs would go, or what is wrong, and creates nothing', async () => {
    await expect(checkCluster(settings, root, cluster.credentials)).resolves.toMatch(
      /^https.* answers for namespace training$/,
    );
    cluster.trouble({ route: 'GET pods', status: 403 });
    await expect(checkCluster(settings, root, cluster.credentials)).rejects.toThrow('list pods');
    await expect(checkCluster({ ...settings, template: '/nowhere' }, root, cluster.credentials)).rejects.toThrow(
      '/nowhere',
    );
    expect(cluster.jobs).toEqual([]);
  });

  test('a server that is away is a boundary failure that may pass', async () => {
    const credentials = { ...cluster.credentials, server: 'https://127.0.0.1:1' };
    await expect(kubernetesBackend(settings, artifacts, root, credentials).status(jobKey)).rejects.toMatchObject({
      kind: 'retry',
    });
  });

  test('the command that the Job holds is the trainer: run as a pod would run it, it leaves a policy', async () => {
    const rows = ['select 1', 'select 2'].map((content) => ({ messages: [{ role: 'assistant', content }] }));
    const dataset = await artifacts.saveDataset(
      rows.map((row, n) => JSON.stringify({ trajectory_id: `t${n}`, ...row })),
    );
    const tiny = { vocabulary_size: 300, hidden_size: 32, layers: 1, feed_forward_size: 32 };
    let pod = Promise.resolve();
    cluster.onCreate((made) => {
      pod = runHere(made);
    });
    const backend = aBackend({ python: path.join(projectRoot, '.venv/bin/python') });
    await backend.submit(job({ method: 'init', dataset, settings: tiny, gpus: 0 }));
    for (;;) {
      const now = await backend.status(jobKey);
      if (now.state === 'running') await sleep(100);
      else if (now.state !== 'succeeded') throw new Error(`${JSON.stringify(now)}: ${await backend.logs(jobKey)}`);
      else {
        await pod;
        return await expect(artifacts.adoptPolicy(now.policyPath, now.policyHash)).resolves.toBe(now.policyHash);
      }
    }
  });
});

/** What a kubelet and the Job controller do. */
async function runHere({ spec }: FakeJob): Promise<void> {
  const [container] = spec.template.spec.containers;
  const [file = '', ...args] = container!.command;
  const env = Object.fromEntries(container!.env.map(({ name, value }) => [name, value]));
  const child = spawn(file, args, {
    env: { ...process.env, ...env },
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (text) => (log += String(text)));
  cluster.pod({ phase: 'Running' });
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  cluster.pod({ phase: exitCode === 0 ? 'Succeeded' : 'Failed', ...terminated('Error', exitCode ?? 1) }, log);
  cluster.end(exitCode === 0 ? 'Complete' : 'Failed');
}
