import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Pool } from 'pg';
import type { Connections } from '../../client/connections';

/** Rights of a token: `operate` may also send orders. */
export type Role = 'read' | 'operate';

/** Variables of a request. */
export type Variables = { role: Role };

export type Api = OpenAPIHono<{ Bindings: HttpBindings; Variables: Variables }>;

/** What the routes use. */
export type ServerContext = {
  /** Gives orders. */
  connections: Connections;
  /** Its connections have the reader's role and a time limit. */
  reader: Pool;
  /** Writes one line to the server's log. */
  log: (line: string) => void;
};
