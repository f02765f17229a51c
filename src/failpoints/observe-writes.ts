import type { Pool, PoolClient } from 'pg';

type Reach = (place: 'afterEffect' | 'afterCommit') => void;

/** The same pool, telling before every statement that writes, and when what was written is committed. */
export function reportingPool(pool: Pool, reach: Reach): Pool {
  const query = async (...request: unknown[]): Promise<unknown> => {
    const isWrite = writes(request[0]);
    if (isWrite) reach('afterEffect');
    const result: unknown = await call(pool, 'query', request);
    if (isWrite) reach('afterCommit');
    return result;
  };
  const connect = async (): Promise<PoolClient> => reportingClient(await pool.connect(), reach);
  return replaced(pool, { query, connect });
}

/** Of one checkout, which may hold several transactions, one after the other. */
function reportingClient(client: PoolClient, reach: Reach): PoolClient {
  let inTransaction = false;
  let uncommitted = false;
  const query = async (...request: unknown[]): Promise<unknown> => {
    const isWrite = writes(request[0]);
    const verb = /^\s*(begin|commit|rollback(?!\s+to))\b/i.exec(textOf(request[0]))?.[1]?.toLowerCase();
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

/** Statements of src/store, which writes its SQL in full. */
function writes(request: unknown): boolean {
  const text = textOf(request).replace(/--[^\n]*/g, '');
  return /\b(insert\s+into|update\s+\w+(\s+(as\s+)?\w+)?\s+set|delete\s+from)\b/i.test(text);
}

function textOf(request: unknown): string {
  if (typeof request === 'string') return request;
  return (request as { text?: string } | undefined)?.text ?? '';
}

const call = (target: object, method: string, request: unknown[]): unknown =>
  (Reflect.get(target, method) as (...all: unknown[]) => unknown).apply(target, request);

/** The target with some methods of ours; its own run on the target itself, whose state they change. */
const replaced = <T extends object>(target: T, methods: Partial<Record<keyof T, unknown>>): T =>
  new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T];
      const own: unknown = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
