import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { parse } from 'yaml';
import { addWorker } from '../../src/cli/stack/worker';
import { readConfig, variablesOf } from '../../src/config';
import { readThirdPartyServers } from '../../src/envs/third-party/read-servers';
import { readProviders } from '../../src/llm/providers';
import { writeReadyFile } from '../../src/process/ready-file';
import { workerRoles } from '../../src/stack';
import { shutdownTimes } from '../../src/workers/run-worker';

type Mount = string | { type: string; source: string; target: string };
type Service = {
  image: string;
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string | null>;
  volumes?: Mount[];
  secrets?: string[];
  tmpfs?: string[];
  healthcheck?: { test: string[] };
  restart: string;
  stop_grace_period?: string;
  mem_limit?: string;
  cpus?: string;
};
type Compose = {
  services: Record<string, Service>;
  secrets: Record<string, { environment: string }>;
  volumes: Record<string, null>;
};

const root = path.resolve(__dirname, '../..');
const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8');
/** Replaces `${NAME:-default}` by the default. */
const compose = parse(textOf('docker-compose.yml').replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1'), { merge: true }) as Compose;
const dockerfile = textOf('Dockerfile');
const { services } = compose;
const ofImage = Object.entries(services).filter(([, { image }]) => image === 'coevolve');
const python = path.join(root, '.venv/bin/python');

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-containers-'));
afterAll(() => rmSync(folder, { recursive: true }));

const onHost = (file: string): string => file.replace('/etc/coevolve', path.join(root, 'deploy/compose'));

test('every image has a digest', () => {
  const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!);
  const pulled = Object.values(services)
    .map(({ image }) => image)
    .filter((image) => image !== 'coevolve');
  for (const image of [...images, ...pulled]) expect(image).toMatch(/^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
});

test('continuous integration tests the Node of the image and the oldest supported one', () => {
  const { jobs } = parse(textOf('.github/workflows/ci.yml')) as {
    jobs: { test: { strategy: { matrix: { node: number[] } } } };
  };
  const oldest = /^>=(\d+)\./.exec((JSON.parse(textOf('package.json')) as { engines: { node: string } }).engines.node);
  const images = [...dockerfile.matchAll(/^FROM node:(\d+)\./gm)].map(([, major]) => Number(major));
  expect(new Set(jobs.test.strategy.matrix.node)).toEqual(new Set([Number(oldest![1]), ...images]));
});

test('every service has limits, and a server or a worker has a health check and a grace period', () => {
  for (const [name, service] of Object.entries(services)) {
    expect([name, service.mem_limit]).toEqual([name, expect.stringMatching(/^\d+g$/)]);
    if (service.restart !== 'unless-stopped') continue;
    expect([name, service.healthcheck?.test]).toEqual([name, expect.any(Array)]);
    expect([name, service.stop_grace_period]).toEqual([name, expect.stringMatching(/^\d+s$/)]);
  }
});

test('grace periods are longer than the time that workers and servers take to stop', () => {
  const print = [
    'from coevolve_environments.__main__ import _parser',
    'from coevolve_environments.processes.child import _KILL_SECONDS',
    'from coevolve_environments.server.environment_server import _GRACE_SECONDS',
    'print(_parser().parse_args(["--port", "1"]).drain_s + _GRACE_SECONDS + _KILL_SECONDS)',
  ].join('\n');
  const environmentServer = Number(execFileSync(python, ['-c', print], { encoding: 'utf8' }));
  const graceOf = (name: string): number => Number.parseInt(services[name]!.stop_grace_period!, 10);
  expect(graceOf('environment-server')).toBeGreaterThan(environmentServer);
  for (const role of workerRoles)
    expect(graceOf(`worker-${role}`)).toBeGreaterThan(Number.parseInt(shutdownTimes.shutdownForceTime, 10));
});

test('there is a worker of every role, and the CLI parses their commands', async () => {
  const found: unknown[] = [];
  for (const [, { command }] of ofImage.filter(([name]) => name.startsWith('worker-'))) {
    const program = new Command().exitOverride();
    addWorker(program);
    const [worker] = program.commands;
    worker!.action((options: { role: string }) => void found.push(options.role));
    await program.parseAsync(command, { from: 'user' });
  }
  expect(new Set(found)).toEqual(new Set(workerRoles));
});

test('every option of the servers exists', () => {
  const { entrypoint, command } = services['temporal']!;
  const temporal = entrypoint![0]!.replace('/app', root);
  execFileSync(temporal, [...command!, '--help']); // fails with an unknown option
  for (const [name, main] of [
    ['environment-server', 'environments/src/coevolve_environments/__main__.py'],
    ['policy-server', 'trainer/src/coevolve_policy_server/__main__.py'],
  ] as const) {
    const options = services[name]!.command!.map((word) => word.split('=', 1)[0]!);
    expect(options.filter((option) => !textOf(main).includes(`"${option}"`))).toEqual([]);
  }
});

test('the health check of a worker succeeds only while a ready worker runs', () => {
  const command = services['worker-store']!.healthcheck!.test[1]!.replaceAll('$$', '$');
  const check = (): number | null =>
    spawnSync('/bin/sh', ['-c', command.replaceAll('/var/lib/coevolve', folder)]).status;
  expect(check()).not.toBe(0);
  writeReadyFile(folder, 'worker-store', ['store']);
  expect(check()).toBe(0);
  const exited = spawnSync('/bin/true').pid;
  rmSync(path.join(folder, 'run'), { recursive: true });
  writeReadyFile(folder, 'worker-store', ['store']);
  execFileSync('mv', [
    '-T',
    `${folder}/run/worker-store.${process.pid}.ready`,
    `${folder}/run/worker-store.${exited}.ready`,
  ]);
  expect(check()).not.toBe(0);
});

test('a container reads its variables, and the files that they name exist', () => {
  for (const [name, { environment, secrets }] of ofImage.filter(([, service]) => service.environment)) {
    for (const secret of secrets!) writeFileSync(path.join(folder, secret), 'text');
    const env = Object.fromEntries(
      Object.entries(environment!).map(([key, value]) => [key, onHost(value ?? '').replace('/run/secrets', folder)]),
    );
    const config = readConfig(env);
    const known = Object.keys(variablesOf(config));
    expect([name, Object.entries(env).filter(([key, value]) => value && !known.includes(key))]).toEqual([name, []]);
    expect(readProviders(config).size + readThirdPartyServers(config).size).toBe(0);
    expect(new URL(config.databaseUrl!).password).toBe('text');
  }
});

test('no variable of a container contains a secret', () => {
  const names = Object.values(compose.secrets).map(({ environment }) => environment);
  expect(names).toHaveLength(3);
  for (const { environment = {} } of Object.values(services))
    for (const name of names) expect(JSON.stringify(environment)).not.toContain(`{${name}}`);
});

test('every mounted folder exists, and the user of the image owns every volume', () => {
  const owned = /install -d -o node -g node ([^;]+?)\nENV/.exec(dockerfile)![1]!.split(/[\s\\]+/);
  for (const [name, { volumes = [], tmpfs = [] }] of ofImage) {
    for (const mount of volumes) {
      if (typeof mount === 'string')
        expect([name, owned]).toEqual([name, expect.arrayContaining([mount.split(':')[1]])]);
      else expect([name, mount.source, existsSync(path.join(root, mount.source))]).toEqual([name, mount.source, true]);
    }
    const targets = tmpfs.map((mount) => mount.split(':')[0]!).filter((target) => target !== '/tmp');
    for (const target of targets) expect(owned).toContain(path.dirname(target));
  }
  const used = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.flatMap((mount) => (typeof mount === 'string' ? [mount.split(':')[0]] : [])),
  );
  expect(new Set(Object.keys(compose.volumes))).toEqual(new Set(used));
});

test('the environment server receives no keys of language models', () => {
  const { volumes, environment } = services['environment-server']!;
  const mounted = volumes!.filter((mount) => typeof mount !== 'string').map(({ source }) => source);
  expect(mounted).toEqual(['./deploy/compose/environments']);
  expect(environment).toBeUndefined();
});

test('.env.example contains every variable of the compose file', () => {
  const named = [...textOf('docker-compose.yml').matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name!);
  const secrets = Object.values(compose.secrets).map(({ environment }) => environment);
  const offered = [...textOf('.env.example').matchAll(/^#? ?(\w+)=/gm)].map(([, name]) => name!);
  expect([...named, ...secrets].filter((name) => !offered.includes(name))).toEqual([]);
});
