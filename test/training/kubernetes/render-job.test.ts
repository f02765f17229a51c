import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { readKubernetesSettings, type KubernetesSettings } from '../../../src/training/kubernetes/kubernetes-settings';
import { jobName, renderJob } from '../../../src/training/kubernetes/render-job';

const projectRoot = path.resolve(__dirname, '../../..');
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-render-'));
afterAll(() => rmSync(folder, { recursive: true }));

const kubernetesFile = path.join(folder, 'kubernetes.yaml');
writeFileSync(kubernetesFile, 'image: i:1\nclaim: artifacts\n');
const settings: KubernetesSettings = readKubernetesSettings({ kubernetesFile, projectRoot })!;
const request = {
  jobKey: 'campaign/x/base',
  namespace: 'n',
  folder: '/a/jobs/x',
  artifacts: '/a',
  gpus: 0,
  settings: {},
  jobFile: '{}',
};

/** Settings with a changed copy of the shipped template. */
const changed = (from: string | RegExp, to: string): KubernetesSettings => {
  const template = path.join(folder, 'job.yaml');
  writeFileSync(template, readFileSync(settings.template, 'utf8').replace(from, to));
  return { ...settings, template };
};

test('a job without GPUs requests no GPUs', async () => {
  const job = JSON.stringify(await renderJob(settings, request));
  expect(job).not.toContain('gpu');
  expect(job).not.toContain('${');
});

test('fields that an operator adds to the template are kept', async () => {
  const tolerant = changed(
    'nodeSelector: ${nodeSelector}',
    'tolerations: [{ operator: Exists }]\n      priorityClassName: low',
  );
  expect(await renderJob(tolerant, request)).toMatchObject({
    spec: { template: { spec: { tolerations: [{ operator: 'Exists' }], priorityClassName: 'low' } } },
  });
});

test.each([
  {
    fault: 'an unknown placeholder',
    from: '${claim}',
    to: '${claims}',
    message: 'found ${claims}, expected a value or one of name',
  },
  {
    fault: 'a placeholder inside a text',
    from: 'image: ${image}',
    to: 'image: "r/${image}"',
    message: 'found r/${image}',
  },
  { fault: 'retries', from: 'backoffLimit: 0', to: 'backoffLimit: 6', message: 'spec.backoffLimit' },
  { fault: 'restarts', from: 'restartPolicy: Never', to: 'restartPolicy: OnFailure', message: 'restartPolicy' },
  { fault: 'no hash', from: /coevolve.dev\/spec-sha256.*/, to: 'a: b', message: 'metadata.annotations' },
  {
    fault: 'no label for its pods',
    from: /(template:\n.*\n.*\n.*\n) +coevolve.dev\/job.*/,
    to: '$1',
    message: 'template.metadata.labels',
  },
  {
    fault: 'another command',
    from: 'command: ${command}',
    to: 'command: [sleep]',
    message: 'expected a container with ${image}, ${command}',
  },
  {
    fault: 'no mount of the artifacts',
    from: 'mountPath: ${artifacts}',
    to: 'mountPath: /elsewhere',
    message: 'a mount at ${artifacts}',
  },
  {
    fault: 'another claim',
    from: 'claimName: ${claim}',
    to: 'claimName: mine',
    message: 'expected the claim ${claim}',
  },
  { fault: 'another kind', from: 'kind: Job', to: 'kind: CronJob', message: 'kind' },
  { fault: 'invalid YAML', from: 'kind: Job', to: 'kind: [', message: 'job.yaml' },
])('the error for a template with $fault contains the problem', async ({ from, to, message }) => {
  await expect(renderJob(changed(from, to), request)).rejects.toMatchObject({
    kind: 'rejected',
    message: expect.stringContaining(message),
  });
});

test('the error for a missing template contains its path', async () => {
  await expect(renderJob({ ...settings, template: '/nowhere.yaml' }, request)).rejects.toThrow('/nowhere.yaml');
});

test('a value never changes the structure of the Job', async () => {
  const property = fc.asyncProperty(fc.string({ minLength: 1 }), fc.string(), async (image, value) => {
    const job = await renderJob({ ...settings, image, env: { A: value } }, request);
    const { spec } = (job['spec'] as { template: { spec: { containers: [{ image: string; env: object[] }] } } })
      .template;
    expect(spec.containers[0].image).toBe(image);
    expect(spec.containers[0].env).toContainEqual({ name: 'A', value });
  });
  await fc.assert(property, { numRuns: 50 });
});

test('every name is valid for Kubernetes, and different keys have different names', () => {
  const key = fc
    .array(fc.stringMatching(/^[A-Za-z0-9_.-]{1,40}$/), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join('/'));
  const property = fc.property(key, key, (first, second) => {
    expect(jobName(first)).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
    expect(jobName(first) === jobName(second)).toBe(first === second);
  });
  fc.assert(property, { numRuns: 500 });
});
