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
  ...{
    jobKey: 'campaign/x/base',
    namespace: 'n',
    folder: '/a/jobs/x',
    artifacts: '/a',
    gpus: 0,
    settings: {},
    jobFile: '{}',
  },
};

/** The shipped template with a change of an operator's. */
const changed = (from: string | RegExp, to: string): KubernetesSettings => {
  const template = path.join(folder, 'job.yaml');
  writeFileSync(template, readFileSync(settings.template, 'utf8').replace(from, to));
  return { ...settings, template };
};

test('without GPUs none are asked for', async () => {
  const job = JSON.stringify(await renderJob(settings, request));
  expect(job).not.toContain('gpu');
  expect(job).not.toContain('${');
});

test('what an operator adds to the template stays', async () => {
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
    says: 'found ${claims}, expected a value or one of name',
  },
  {
    fault: 'a placeholder inside a text',
    from: 'image: ${image}',
    to: 'image: "r/${image}"',
    says: 'found r/${image}',
  },
  { fault: 'retries of its own', from: 'backoffLimit: 0', to: 'backoffLimit: 6', says: 'spec.backoffLimit' },
  { fault: 'restarts of its own', from: 'restartPolicy: Never', to: 'restartPolicy: OnFailure', says: 'restartPolicy' },
  { fault: 'no hash', from: /coevolve.dev\/spec-sha256.*/, to: 'a: b', says: 'metadata.annotations' },
  {
    fault: 'no label to find its pods by',
    from: /(template:\n.*\n.*\n.*\n) +coevolve.dev\/job.*/,
    to: '$1',
    says: 'template.metadata.labels',
  },
  {
    fault: 'another command',
    from: 'command: ${command}',
    to: 'command: [sleep]',
    says: 'expected a container with ${image}, ${command}',
  },
  {
    fault: 'no mount of the artifacts',
    from: 'mountPath: ${artifacts}',
    to: 'mountPath: /elsewhere',
    says: 'a mount at ${artifacts}',
  },
  { fault: 'another claim', from: 'claimName: ${claim}', to: 'claimName: mine', says: 'expected the claim ${claim}' },
  { fault: 'another kind', from: 'kind: Job', to: 'kind: CronJob', says: 'kind' },
  { fault: 'no YAML', from: 'kind: Job', to: 'kind: [', says: 'job.yaml' },
])('a template with $fault is refused, naming it', async ({ from, to, says }) => {
  await expect(renderJob(changed(from, to), request)).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining(says),
  });
});

test('a template that is not there is named', async () => {
  await expect(renderJob({ ...settings, template: '/nowhere.yaml' }, request)).rejects.toThrow('/nowhere.yaml');
});

test('whatever a value holds, it stays one value', async () => {
  const property = fc.asyncProperty(fc.string({ minLength: 1 }), fc.string(), async (image, value) => {
    const job = await renderJob({ ...settings, image, env: { A: value } }, request);
    const { spec } = (job['spec'] as { template: { spec: { containers: [{ image: string; env: object[] }] } } })
      .template;
    expect(spec.containers[0].image).toBe(image);
    expect(spec.containers[0].env).toContainEqual({ name: 'A', value });
  });
  await fc.assert(property, { numRuns: 50 });
});

test('every name is one that Kubernetes takes, and different keys have different names', () => {
  const key = fc
    .array(fc.stringMatching(/^[A-Za-z0-9_.-]{1,40}$/), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join('/'));
  const property = fc.property(key, key, (one, other) => {
    expect(jobName(one)).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
    expect(jobName(one) === jobName(other)).toBe(one === other);
  });
  fc.assert(property, { numRuns: 500 });
});
