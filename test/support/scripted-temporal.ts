type Answer = (workflowId: string) => Promise<unknown>;

/** Returns a Temporal client of which a test scripts only the answers for a workflow. */
export const scriptedTemporal =
  (describe: Answer, query: Answer = describe) =>
  () =>
    Promise.resolve({
      connection: { withDeadline: <T>(_deadline: number, request: () => Promise<T>) => request() },
      workflow: { getHandle: (id: string) => ({ describe: () => describe(id), query: () => query(id) }) },
    });
