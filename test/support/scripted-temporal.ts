/** Returns a Temporal client of which a test scripts only the answer for a workflow. */
export const scriptedTemporal = (describe: (workflowId: string) => Promise<unknown>) => () =>
  Promise.resolve({
    connection: { withDeadline: <T>(_deadline: number, request: () => Promise<T>) => request() },
    workflow: { getHandle: (id: string) => ({ describe: () => describe(id) }) },
  });
