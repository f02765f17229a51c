import { createHash, timingSafeEqual } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { MiddlewareHandler } from 'hono';
import type { Role, Variables } from './context';
import { rateLimit, type RateLimit } from './rate-limit';
import { RequestError } from './problem';

export type GuardOptions = {
  tokens: Readonly<Record<Role, string>>;
  /** Host headers that are served, with their ports. */
  hosts: readonly string[];
  /** Requests of one address and role, all together and orders alone. */
  limits: { requests: RateLimit; orders: RateLimit };
};

type Guarded = MiddlewareHandler<{ Bindings: HttpBindings; Variables: Variables }>;

/** Headers of every answer: nothing is framed, sniffed, cached or sent on. */
export const securityHeaders: MiddlewareHandler = async (context, next) => {
  await next();
  const { headers } = context.res;
  for (const [name, value] of Object.entries(fixedHeaders)) if (!headers.has(name)) headers.set(name, value);
};

const fixedHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin', // with no-referrer, browsers hide the origin of a form too
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/**
 * Refuses requests by another name of this machine: a web page whose name resolves to the loopback address would otherwise
 * reach the server with a request of its own origin.
 */
export const hostGuard =
  ({ hosts }: GuardOptions): Guarded =>
  async (context, next) => {
    const host = context.req.header('host') ?? '';
    if (!hosts.includes(host.toLowerCase()))
      throw new RequestError(403, {
        code: 'HostNotAllowed',
        error: `host: found ${JSON.stringify(host.slice(0, 80))}, expected ${hosts.join(' or ')}; start the server with --allow-host`,
        field: 'host',
        found: host.slice(0, 80),
        expected: hosts.join(' or '),
        next: 'coevolve serve --allow-host <host>',
      });
    await next();
  };

/** Requires a token, keeps its role for the routes, and counts requests by address and role. */
export function tokenGuard({ tokens, limits }: GuardOptions): Guarded {
  const allowed = rateLimit(limits.requests);
  return async (context, next) => {
    const role = roleOf(tokens, context.req.header('authorization'));
    allowed(`${addressOf(context.env)}/${role ?? 'none'}`);
    if (!role)
      throw new RequestError(401, {
        code: 'Unauthorized',
        error: 'authorization: found no valid token, expected "Bearer <token>" of a file in <home>/secrets',
        field: 'authorization',
        expected: 'Bearer <token>',
        next: 'cat <home>/secrets/api-read-token',
      });
    context.set('role', role);
    await next();
  };
}

/** Requires the role `operate`, and of a browser's request that a page of this server sends it. */
export function orderGuard({ hosts, limits }: GuardOptions): Guarded {
  const allowed = rateLimit(limits.orders);
  return async (context, next) => {
    const origin = context.req.header('origin');
    if (origin !== undefined && !hosts.some((host) => origin === `http://${host}` || origin === `https://${host}`))
      throw new RequestError(403, {
        code: 'OriginNotAllowed',
        error:
          `origin: found ${JSON.stringify(origin.slice(0, 80))}, expected ${hosts.join(' or ')}: orders come from a page of ` +
          'this server, in a browser that names its address',
        field: 'origin',
        found: origin.slice(0, 80),
      });
    if (context.get('role') !== 'operate')
      throw new RequestError(403, {
        code: 'RoleNotAllowed',
        error:
          'authorization: found the role read, expected operate: orders need the token of <home>/secrets/api-operate-token',
        field: 'authorization',
        found: 'read',
        expected: 'operate',
        next: 'cat <home>/secrets/api-operate-token',
      });
    allowed(addressOf(context.env));
    await next();
  };
}

const roleOf = (tokens: GuardOptions['tokens'], header = ''): Role | undefined =>
  roleOfToken(tokens, /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '');

/** Compares hashes, so that the time depends neither on the length nor on the first wrong character. */
export function roleOfToken(tokens: GuardOptions['tokens'], token: string): Role | undefined {
  const given = digestOf(token);
  return (['operate', 'read'] as const).find((role) => timingSafeEqual(digestOf(tokens[role]), given));
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Behind a proxy all requests have its address: it limits its clients itself. */
export const addressOf = ({ incoming }: HttpBindings): string => incoming.socket.remoteAddress ?? 'unknown';
