import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  readKubernetesSettings,
  requireKubernetesSettings,
} from '../../../src/training/kubernetes/kubernetes-settings';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-kubernetes-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));
const kubernetesFile = path.join(folder, 'kubernetes.yaml');

const read = (text: string) => {
  writeFileSync(kubernetesFile, text);
  return readKubernetesSettings({ kubernetesFile, projectRoot: '/project' });
};

test('only image and claim are required, and paths are relative to the file', () => {
  expect(read('image: i:1\nclaim: artifacts\n')).toEqual({
    image: 'i:1',
    claim: 'artifacts',
    python: '/app/.venv/bin/python',
    cpu: '4',
    memory: '16Gi',
    env: {},
    gpuResource: 'nvidia.com/gpu',
    nodeSelector: {},
    serviceAccount: 'default',
    keepSeconds: 86_400,
    imagePullMinutes: 10,
    template: '/project/deploy/kubernetes/training-job.yaml',
  });
  expect(read('image: i\nclaim: c\ntemplate: job.yaml\nkubeconfig: kube/config\n')).toMatchObject({
    template: path.join(folder, 'job.yaml'),
    kubeconfig: path.join(folder, 'kube/config'),
  });
});

test('no cluster is configured without a file', () => {
  expect(readKubernetesSettings({ projectRoot: '/project' })).toBeUndefined();
  expect(() => requireKubernetesSettings({ projectRoot: '/project' })).toThrow(
    expect.objectContaining({ code: 'NoCluster', message: expect.stringContaining('COEVOLVE_KUBERNETES_CONFIG') }),
  );
});

test.each([
  { text: 'image: i\n', field: 'claim' },
  { text: 'image: i\nclaim: c\nmemory: much\n', field: 'memory' },
  { text: 'image: i\nclaim: c\nnamespace: My Space\n', field: 'namespace' },
  { text: 'image: i\nclaim: c\ngpus: 4\n', field: 'gpus' },
  { text: 'image: [', field: 'kubernetes.yaml' },
])('the error for an invalid file contains its name and the field $field', ({ text, field }) => {
  expect(() => read(text)).toThrow(
    expect.objectContaining({ name: 'ConfigError', message: expect.stringContaining(field) }),
  );
  expect(() => read(text)).toThrow(kubernetesFile);
});
