import { OpenAPIHono } from '@hono/zod-openapi';
import { bodyLimit } from 'hono/body-limit';
import type { DescribedView } from '../store/reporting/describe-views';
import type { Api, ServerContext } from './request/context';
import { hostGuard, orderGuard, securityHeaders, tokenGuard, type GuardOptions } from './request/guard';
import { addDataset } from './dataset-route';
import { addList } from './list-routes';
import { documentOf } from './openapi-document';
import { scrape, type MetricsSources } from './metrics/metrics';
import { problemOf, RequestError, sendProblem } from './request/problem';
import { addOrders } from './orders/order-routes';
import { campaignResources } from './resources/campaign-resources';
import { orderResource } from './resources/order-resource';
import { experimentResources } from './resources/experiment-resources';
import { addSearch } from './search-route';
import { addPage, sendProblemPage } from './page/page-routes';
import { addStream } from './stream/stream-route';
import { refuseInvalid } from './request/validation';

/** All lists of rows. */
export const resources = [...campaignResources, ...experimentResources, orderResource];

export type AppOptions = ServerContext &
  GuardOptions & {
    metrics: MetricsSources;
    /** Cookies are sent over TLS alone. */
    isTls: boolean;
    /** Descriptions for the OpenAPI document. */
    views: readonly DescribedView[];
  };

/** A spec has at most 256 KiB (docs/security.md); as JSON text it is longer. */
const maxBodyBytes = 1024 * 1024;

/** Creates the application: the page, the API below `/api/v1`, `/metrics` and `/health`. Every route has the check of the host and the headers. */
export function createApp(options: AppOptions): Api {
  const app: Api = new OpenAPIHono({ defaultHook: (result) => refuseInvalid(result) });
  app.onError((error, context) => {
    const refused = problemOf(error, (unexpected) => options.log(String((unexpected as Error).stack)));
    return /^\/[ce]\//.test(context.req.path) ? sendProblemPage(context, refused) : sendProblem(context, refused);
  });
  app.notFound((context) => sendProblem(context, unknownRoute(context.req.path)));
  app.use(securityHeaders, hostGuard(options));
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/api/v1/openapi.json', (context) => context.json(documentOf(app, resources, options.views)));
  app.use('/api/*', tokenGuard(options));
  app.use('/metrics', tokenGuard(options));
  app.get('/metrics', async (context) =>
    context.text(await scrape(options.metrics), 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }),
  );
  app.on('POST', '/api/*', orderGuard(options), bodyLimit({ maxSize: maxBodyBytes, onError: refuseLargeBody }));
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  for (const resource of resources) addList(app, options, resource);
  addSearch(app, options);
  addDataset(app, options);
  addStream(app, options);
  addOrders(app, options.connections, options.log);
  refuseOtherMethods(app);
  addPage(app, options);
  return app;
}

/** Answers 405 to requests whose path is in the document and whose method is not. Hono answers HEAD by the routes of GET. */
function refuseOtherMethods(app: Api): void {
  const methods = new Map<string, string[]>();
  for (const definition of app.openAPIRegistry.definitions)
    if (definition.type === 'route') {
      const { path, method } = definition.route;
      methods.set(path, [
        ...(methods.get(path) ?? []),
        ...(method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]),
      ]);
    }
  for (const [path, allowed] of methods)
    app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), ({ req, header }) => {
      header('allow', allowed.join(', '));
      throw new RequestError(405, {
        code: 'MethodNotAllowed',
        error: `method: found ${req.method}, expected ${allowed.join(' or ')}`,
        field: 'method',
        found: req.method,
        expected: allowed.join(' or '),
      });
    });
}

const unknownRoute = (path: string): RequestError =>
  new RequestError(404, {
    code: 'UnknownRoute',
    error: `no route ${path.slice(0, 80)}`,
    found: path.slice(0, 80),
    next: 'GET /api/v1/openapi.json',
  });

function refuseLargeBody(): never {
  throw new RequestError(413, {
    code: 'BodyTooLarge',
    error: `body: found more than ${maxBodyBytes} bytes, expected fewer`,
    field: 'body',
    expected: `at most ${maxBodyBytes} bytes`,
  });
}
