import type { Pool, PoolClient } from 'pg';

type Reach = (position: 'afterEffect' | 'afterCommit') => void;

/** Returns the same pool, which calls `reach` before each writing statement and after each commit of writes. */
export function observeWrites(pool: Pool, reach: Reach): Pool {
  const query = async (...request: unknown[]): Promise<unknown> => {
    const isWrite = isWriting(request[0]);
    if (isWrite) reach('afterEffect');
    const result: unknown = await call(pool, 'query', request);
    if (isWrite) reach('afterCommit');
    return result;
  };
  const connect = async (): Promise<PoolClient> => observedClient(await pool.connect(), reach);
  return replaced(pool, { query, connect });
}

/** A client may run several transactions between checkout and release. */
function observedClient(client: PoolClient, reach: Reach): PoolClient {
  let inTransaction = false;
  let uncommitted = false;
  const query = async (...request: unknown[]): Promise<unknown> => {
    const isWrite = isWriting(request[0]);
    const verb = /^\s*(begin|commit|rollback(?!\s+to))\b/i.exec(sqlOf(request[0]))?.[1]?.toLowerCase();
    if (isWrite || (verb === 'commit' && uncommitted)) reach('afterEffect');
    const result: unknown = await call(client, 'query', request);
    const isCommitted = verb === 'commit' ? uncommitted : isWrite && !inTransaction;
    uncommitted = verb ? false : uncommitted || (isWrite && inTransaction);
    if (verb) inTransaction = verb === 'begin';
    if (isCommitted) reach('afterCommit');
    return result;
  };
  return replaced(client, { query });
}

/** Recognises the writing statements of src/store, whose queries contain their whole SQL. */
function isWriting(request: unknown): boolean {
  const text = sqlOf(request).replace(/--[^\n]*/g, '');
  return /\b(insert\s+into|update\s+\w+(\s+(as\s+)?\w+)?\s+set|delete\s+from)\b/i.test(text);
}

function sqlOf(request: unknown): string {
  if (typeof request === 'string') return request;
  return (request as { text?: string } | undefined)?.text ?? '';
}

const call = (target: object, method: string, request: unknown[]): unknown =>
  (Reflect.get(target, method) as (...all: unknown[]) => unknown).apply(target, request);

/** Replaces methods of the target; its other methods run on the target itself, whose state they change. */
const replaced = <T extends object>(target: T, methods: Partial<Record<keyof T, unknown>>): T =>
  new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T];
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
