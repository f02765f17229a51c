import { keepOwnEnvironment } from '../../src/process/own-environment';

const kept = (variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  keepOwnEnvironment(variables);
  return variables;
};

test("Python's variables of the caller are removed, and others are kept", () => {
  const given = {
    PYTHONPATH: '/cluster',
    PYTHONHOME: '/other',
    PYTHONHASHSEED: '1',
    HF_TOKEN: 'x',
    CUDA_HOME: '/cuda',
  };
  expect(kept(given)).toMatchObject({ HF_TOKEN: 'x', CUDA_HOME: '/cuda' });
  expect(Object.keys(given).filter((name) => name.startsWith('PYTHON'))).toEqual([]);
});

test.each([
  [{}, '127.0.0.1,localhost,::1'],
  [{ http_proxy: 'http://proxy:3128', no_proxy: '.corp, localhost' }, '.corp,localhost,127.0.0.1,::1'],
  [{ NO_PROXY: 'db' }, 'db,127.0.0.1,localhost,::1'],
])('no proxy is asked for servers of this machine: %j', (given, direct) => {
  expect(kept(given)).toMatchObject({ ...given, no_proxy: direct, NO_PROXY: direct });
});

test("gRPC's own list of hosts without a proxy has this machine, too", () => {
  expect(kept({ no_grpc_proxy: 'db' })).toMatchObject({ no_grpc_proxy: 'db,127.0.0.1,localhost,::1' });
});
