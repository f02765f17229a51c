const loopback = ['127.0.0.1', 'localhost', '::1'];

/**
 * Changes the variables of this process, which its children inherit, so that our programs load and reach only what is theirs.
 * Python would import a cluster's modules before its own (`PYTHONPATH`, `PYTHONHOME`), and gRPC, requests and httpx would ask a
 * proxy for the servers on this machine.
 */
export function keepOwnEnvironment(variables: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(variables)) if (name.startsWith('PYTHON')) delete variables[name];
  const given = variables['no_proxy'] ?? variables['NO_PROXY'] ?? '';
  const direct = [...new Set([...given.split(',').map((host) => host.trim()), ...loopback])].filter(Boolean).join(',');
  variables['no_proxy'] = variables['NO_PROXY'] = direct;
  if (variables['no_grpc_proxy'] !== undefined)
    variables['no_grpc_proxy'] = `${variables['no_grpc_proxy']},${loopback.join()}`;
}
