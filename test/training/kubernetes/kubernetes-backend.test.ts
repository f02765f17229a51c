import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactStore, type ArtifactStore } from '../../../src/artifacts/artifact-store';
import { checkCluster } from '../../../src/training/kubernetes';
import { connectCluster } from '../../../src/training/kubernetes/cluster-api';
import { clusterJobs } from '../../../src/training/kubernetes/cluster-jobs';
import { kubernetesBackend } from '../../../src/training/kubernetes/kubernetes-backend';
import type { KubernetesSettings } from '../../../src/training/kubernetes/kubernetes-settings';
import type { TrainingBackend, TrainingJob } from '../../../src/training/contract/training-backend';
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
  image: 'registry.example/coevolve:1',
  claim: 'artifacts',
  python: '/app/.venv/bin/python',
  cpu: '2',
  memory: '8Gi',
  gpuResource: 'nvidia.com/gpu',
  nodeSelector: { gpu: 'h100' },
  env: { NCCL_DEBUG: 'WARN' },
  serviceAccount: 'trainer',
  keepSeconds: 3600,
  imagePullMinutes: 10,
  template: path.join(projectRoot, 'deploy/kubernetes/training-job.yaml'),
};

/** Backend of a new worker, without the state of earlier ones. */
const newBackend = (changes: Partial<KubernetesSettings> = {}): TrainingBackend =>
  kubernetesBackend({ ...settings, kubeconfig: cluster.kubeconfig(), ...changes }, artifacts, root);

const jobKey = 'campaign/x/iteration/0/train/target';

const job = (changes: Partial<TrainingJob> = {}): TrainingJob => ({
  jobKey,
  method: 'sft',
  base: null,
  reference: null,
  dataset: null,
  trainerState: null,
  seed: 1,
  settings: { epochs: 1, processes: 2, threads: 3 },
  gpus: 2,
  ...changes,
});

/** Writes the trainer's status file. */
const writeStatus = (status: object): void =>
  writeFileSync(path.join(artifacts.jobPath(jobKey), 'status.json'), JSON.stringify(status));

const state = async (): Promise<string> => (await newBackend().status(jobKey)).state;
const status = () => newBackend().status(jobKey);

const terminated = (reason: string, exitCode: number) => ({
  containerStatuses: [{ state: { terminated: { reason, exitCode } } }],
});
const waiting = (reason: string) => ({
  phase: 'Pending',
  containerStatuses: [{ state: { waiting: { reason, message: 'from the test' } } }],
});

describe('against a fake API server (no real cluster was available)', () => {
  test('a submitted Job has the command, the GPUs, the claim at the path of the artifacts and no retries', async () => {
    await newBackend().submit(job());
    const [created] = cluster.jobs;
    expect(created!.metadata.name).toMatch(/^coevolve-campaign-x-iteration-0-train-target-[0-9a-f]{12}$/);
    expect(created!.spec).toMatchObject({ backoffLimit: 0, ttlSecondsAfterFinished: 3600 });
    const { spec } = created!.spec.template;
    expect(spec).toMatchObject({
      restartPolicy: 'Never',
      nodeSelector: { gpu: 'h100' },
      serviceAccountName: 'trainer',
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

  test('a job that several workers submit, also repeatedly, is one Job', async () => {
    await Promise.all([newBackend().submit(job()), newBackend().submit(job())]);
    await newBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
    expect(cluster.requests.filter((route) => route === 'POST jobs')).toHaveLength(1);
  });

  test('a Job whose create request lost its response is adopted by the next submit', async () => {
    cluster.fault({ route: 'POST jobs', lost: true });
    await expect(newBackend().submit(job())).rejects.toMatchObject({ name: 'BackendError', kind: 'unavailable' });
    await newBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
    await expect(state()).resolves.toBe('running');
  });

  test('a submit that gets AlreadyExists succeeds when the Job has the same hash', async () => {
    await newBackend().submit(job());
    cluster.fault({ route: 'GET jobs', status: 404 }); // as if another worker had created it after this request
    await newBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
    expect(cluster.requests.filter((route) => route === 'POST jobs')).toHaveLength(2);
  });

  test('a running Job of another stack with the same name is not changed, and the submit is rejected with its name', async () => {
    await newBackend().submit(job());
    cluster.jobs[0]!.metadata.annotations['coevolve.dev/spec-sha256'] = 'f'.repeat(64);
    await expect(state()).resolves.toBe('absent');
    await expect(newBackend().submit(job())).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining(cluster.jobs[0]!.metadata.name),
    });
    await newBackend().cancel(jobKey);
    expect(cluster.jobs).toHaveLength(1);
    expect(cluster.requests).not.toContain('DELETE jobs');
  });

  test('a job without a pod, a node or its image is waiting, and then runs with the progress of its files', async () => {
    await newBackend().submit(job());
    await expect(status()).resolves.toMatchObject({ state: 'running', waiting: 'the Job has no pod yet' });
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
    await expect(status()).resolves.toMatchObject({
      waiting: expect.stringContaining('ImagePullBackOff: from the test'),
    });
    cluster.pod({ phase: 'Running' });
    writeStatus({ state: 'running', step: 4, total_steps: 10, loss: 0.5 });
    const running = await status();
    expect(running).toMatchObject({ state: 'running', step: 4, totalSteps: 10, progress: { loss: 0.5 } });
    expect(running).not.toHaveProperty('waiting');
  });

  test('a complete Job with a succeeded status file has succeeded and returns its policy folder', async () => {
    await newBackend().submit(job());
    cluster.pod({ phase: 'Succeeded' });
    cluster.end('Complete');
    writeStatus({ state: 'succeeded', policy_hash: 'a'.repeat(64), tokens: 5, seconds: 2 });
    await expect(status()).resolves.toMatchObject({
      state: 'succeeded',
      policyHash: 'a'.repeat(64),
      policyPath: path.join(artifacts.jobPath(jobKey), 'policy'),
    });
    cluster.jobs.length = 0; // deleted after ttlSecondsAfterFinished
    await expect(state()).resolves.toBe('succeeded');
    await newBackend().submit(job());
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
    { disruption: 'killed during training', pod: { phase: 'Failed', ...terminated('Error', 137) } },
  ];

  test.each(disruptions)(
    'a job whose pod was $disruption is absent, and the next submit creates a new Job',
    async ({ pod }) => {
      await newBackend().submit(job());
      const first = cluster.jobs[0]!.metadata.uid;
      writeStatus({ state: 'running', step: 4, total_steps: 10 });
      cluster.pod(pod);
      cluster.end('Failed', 'BackoffLimitExceeded');
      await expect(status()).resolves.toEqual({ state: 'absent' });
      await newBackend().submit(job());
      expect(cluster.jobs.map(({ metadata }) => metadata.uid)).toEqual([expect.not.stringMatching(first)]);
      await expect(status()).resolves.toMatchObject({ state: 'running', step: 4, waiting: 'the Job has no pod yet' });
    },
  );

  const failures = [
    {
      problem: 'ran out of memory',
      type: 'out-of-memory',
      pod: { phase: 'Failed', ...terminated('OOMKilled', 137) },
      ends: true,
    },
    { problem: 'has an invalid image name', type: 'bad-pod', pod: waiting('InvalidImageName'), ends: false },
    { problem: 'lacks a config map', type: 'bad-pod', pod: waiting('CreateContainerConfigError'), ends: false },
    {
      problem: 'finds no job at its mount',
      type: 'bad-input',
      pod: { phase: 'Failed', ...terminated('Error', 2) },
      ends: true,
    },
  ];

  test.each(failures)(
    'a job whose pod $problem has failed as $type, and the next submit replaces the Job',
    async ({ type, pod, ends }) => {
      await newBackend().submit(job());
      cluster.pod(pod);
      if (ends) cluster.end('Failed', 'BackoffLimitExceeded');
      await expect(status()).resolves.toMatchObject({ state: 'failed', failure: { type } });
      await newBackend().submit(job());
      expect(cluster.jobs).toHaveLength(1);
      await expect(state()).resolves.toBe('running');
    },
  );

  test('a job whose image cannot be pulled waits until imagePullMinutes have passed, and then fails', async () => {
    await newBackend().submit(job());
    const pod = cluster.pod(waiting('ErrImagePull'));
    await expect(state()).resolves.toBe('running');
    pod.metadata.creationTimestamp = new Date(Date.now() - 11 * 60_000).toISOString();
    await expect(status()).resolves.toMatchObject({
      state: 'failed',
      failure: { type: 'image-pull', message: expect.stringContaining('ErrImagePull: from the test') },
    });
  });

  test("the trainer's own failure is reported, and a stalled or cancelled job is absent, so that a submit resumes it", async () => {
    await newBackend().submit(job());
    cluster.pod({ phase: 'Failed', ...terminated('Error', 4) });
    cluster.end('Failed', 'BackoffLimitExceeded');
    writeStatus({ state: 'failed', failure: { type: 'diverged', message: 'the loss is nan' } });
    await expect(status()).resolves.toMatchObject({ state: 'failed', failure: { type: 'diverged' } });
    for (const type of ['stalled', 'cancelled']) {
      writeStatus({ state: 'failed', failure: { type, message: '' } });
      await expect(state()).resolves.toBe('absent');
    }
  });

  test('a cancelled Job remains until its pod has checkpointed, and the next submit creates it again', async () => {
    await newBackend().submit(job());
    cluster.pod({ phase: 'Running' });
    await newBackend().cancel(jobKey);
    await expect(status()).resolves.toMatchObject({ state: 'running', waiting: 'the Job is being deleted' });
    cluster.sweep();
    writeStatus({ state: 'failed', failure: { type: 'cancelled', message: 'SIGTERM' } });
    await expect(state()).resolves.toBe('absent');
    await newBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
  });

  test('a submit during the deletion of the failed Job is retried', async () => {
    await newBackend().submit(job());
    cluster.end('Failed', 'BackoffLimitExceeded');
    cluster.jobs[0]!.metadata.deletionTimestamp = new Date().toISOString();
    await expect(newBackend().submit(job())).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('deleted'),
    });
  });

  test('the log is that of the newest pod of this Job, and empty before its container has started', async () => {
    await expect(newBackend().logs(jobKey)).resolves.toBe('');
    await newBackend().submit(job());
    await expect(newBackend().logs(jobKey)).resolves.toBe('');
    cluster.pod({ phase: 'Pending' }); // its log has status 400
    await expect(newBackend().logs(jobKey)).resolves.toBe('');
    cluster.pod({ phase: 'Failed', reason: 'Evicted' }, 'of the first');
    cluster.end('Failed');
    await newBackend().submit(job());
    cluster.pod({ phase: 'Running' }, 'of the second');
    await expect(newBackend().logs(jobKey)).resolves.toBe('of the second');
  });

  test.each([
    { code: 500, kind: 'unavailable', retryAfterMs: undefined },
    { code: 503, kind: 'unavailable', retryAfterMs: undefined },
    { code: 429, kind: 'unavailable', retryAfterMs: 7000 },
    { code: 403, kind: 'rejected', retryAfterMs: undefined },
    { code: 422, kind: 'rejected', retryAfterMs: undefined },
  ])('status $code of the API server is an error of kind $kind', async ({ code, kind, retryAfterMs }) => {
    for (const route of ['POST jobs', 'GET jobs']) {
      cluster.fault({ route, status: code, ...(retryAfterMs ? { headers: { 'retry-after': '7' } } : {}) });
      await expect(newBackend().submit(job())).rejects.toMatchObject({ name: 'BackendError', kind, retryAfterMs });
    }
    await newBackend().submit(job());
    expect(cluster.jobs).toHaveLength(1);
  });

  test('a wrong token is rejected after one reload of the kubeconfig, and the error does not contain it', async () => {
    const kubeconfig = cluster.kubeconfig({ user: { token: 'wrong-token' } });
    const refused = newBackend({ kubeconfig }).submit(job());
    await expect(refused).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('check the token'),
    });
    await expect(refused).rejects.toMatchObject({ message: expect.not.stringContaining('wrong-token') });
    expect(cluster.requests).toEqual(['GET jobs', 'GET jobs']);
  });

  test('a server with a certificate of another authority is rejected before a token is sent', async () => {
    const authority = Buffer.from(selfSigned().certificate).toString('base64');
    const kubeconfig = cluster.kubeconfig({ cluster: { 'certificate-authority-data': authority } });
    await expect(newBackend({ kubeconfig }).status(jobKey)).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('check the certificate-authority'),
    });
    expect(cluster.requests).toEqual([]);
  });

  test('the check returns server and namespace or the problem, and creates nothing', async () => {
    const reachable = { ...settings, kubeconfig: cluster.kubeconfig() };
    await expect(checkCluster(reachable, root)).resolves.toBe(`${cluster.server}, namespace training`);
    cluster.fault({ route: 'GET pods', status: 403 });
    await expect(checkCluster(reachable, root)).rejects.toThrow('list pods');
    await expect(checkCluster({ ...reachable, template: '/nowhere' }, root)).rejects.toThrow('/nowhere');
    expect(cluster.jobs).toEqual([]);
  });

  test('an unavailable server is an error that Temporal retries', async () => {
    const kubeconfig = cluster.kubeconfig({ cluster: { server: 'https://127.0.0.1:1' } });
    await expect(newBackend({ kubeconfig }).status(jobKey)).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });

  test('a server without a response within the timeout is an error that Temporal retries', async () => {
    cluster.fault({ route: 'GET jobs', silent: true });
    const request = connectCluster({ kubeconfig: cluster.kubeconfig() }, { requestTimeoutMs: 300 });
    await expect(clusterJobs(request).find('a')).rejects.toMatchObject({ name: 'BackendError', kind: 'unavailable' });
    await expect(clusterJobs(request).find('a')).resolves.toBeUndefined();
  });

  test.each([
    { answer: 'a page of HTML', body: '<html>', type: 'text/html' },
    { answer: 'broken JSON', body: '{', type: 'application/json' },
    { answer: 'JSON of another API', body: '{"ok":true}', type: 'application/json' },
  ])('a server that returns $answer is rejected because it is not a Kubernetes API', async ({ body, type }) => {
    const newRequest = () => clusterJobs(connectCluster({ kubeconfig: cluster.kubeconfig() }));
    const message = expect.stringContaining('the server is not a Kubernetes API');
    cluster.fault({ route: 'GET jobs', body, type });
    await expect(newRequest().find('a')).rejects.toMatchObject({ kind: 'rejected', message });
    cluster.fault({ route: 'GET pods', body, type });
    await expect(newRequest().pods('a')).rejects.toMatchObject({ kind: 'rejected', message });
  });

  test('a field of the template that the official client does not support reaches the server', async () => {
    const template = path.join(root, 'job.yaml');
    const text = readFileSync(settings.template, 'utf8');
    writeFileSync(template, text.replace('nodeSelector:', 'newerField: { a: 1 }\n      nodeSelector:'));
    await newBackend({ template }).submit(job());
    expect(cluster.jobs[0]!.spec.template.spec).toMatchObject({ newerField: { a: 1 }, nodeSelector: { gpu: 'h100' } });
  });

  test('the command of the Job runs the trainer, which writes a policy', async () => {
    const rows = ['select 1', 'select 2'].map((content) => ({ messages: [{ role: 'assistant', content }] }));
    const dataset = await artifacts.saveDataset(
      rows.map((row, n) => JSON.stringify({ trajectory_id: `t${n}`, ...row })),
    );
    const tiny = { vocabulary_size: 300, hidden_size: 32, layers: 1, feed_forward_size: 32 };
    let pod = Promise.resolve();
    cluster.onCreate((created) => {
      pod = runPod(created);
    });
    const backend = newBackend({ python: path.join(projectRoot, '.venv/bin/python') });
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

/** Plays kubelet and Job controller. */
async function runPod({ spec }: FakeJob): Promise<void> {
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
