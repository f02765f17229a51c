import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Api, ServerContext } from '../request/context';
import type { GuardOptions } from '../request/guard';
import { approvalsPage } from './approvals-page';
import { attemptPage } from './attempt-page';
import { attemptsPage } from './attempts-page';
import { campaignPage } from './campaign-page';
import { campaignsPage } from './campaigns-page';
import { html } from '../../tables/html';
import type { RequestError } from '../request/problem';
import { flipsPage } from './flips-page';
import { scriptPath } from '../../report/page/page';
import { askApi } from './ask-api';
import { addressWith, crumbs, home, sendDocument } from './frame';
import { findOrder, orderPage, postOrder } from './order-form';
import { experimentPage, experimentsPage } from './experiment-pages';
import { keptReports } from './kept-reports';
import { searchPage } from './search-page';
import { tokenizers } from './token-texts';
import { addLogin, countGuesses, sessionGuard } from './session';

const maxFormBytes = 16_384;

/**
 * Adds the page: documents whose address holds all that they show. They read and order what the API does, with the rights
 * of the visitor's token. A script of the server adds keys and follows the events.
 */
export function addPage(app: Api, options: ServerContext & GuardOptions & { isTls: boolean }): void {
  const { connections, reader } = options;
  app.use('/login', bodyLimit({ maxSize: maxFormBytes }));
  const reports = keptReports(connections.pool);
  const textsOf = tokenizers(connections.artifacts);
  const countGuess = countGuesses();
  const guard = sessionGuard(options, countGuess);
  addLogin(app, options, countGuess);
  for (const page of ['/', '/stream', '/e', '/e/*']) app.use(page, guard);
  app.use('/c/*', guard, bodyLimit({ maxSize: maxFormBytes }));
  const script = readFileSync(path.resolve(__dirname, '../../../dist/server/page/browser.js'), 'utf8');
  app.get(scriptPath, (context) => context.body(script, 200, { 'content-type': 'text/javascript; charset=utf-8' }));
  app.get('/stream', (context) => askApi(app, context, addressWith('/api/v1/stream', context.req.query())));
  app.get('/', (context) => campaignsPage(context, connections));
  app.get('/e', (context) => experimentsPage(context, connections));
  app.get('/e/:experiment', (context) => experimentPage(context, connections));
  app.get('/c/:campaign', async (context) =>
    campaignPage(
      context,
      { connections, reports },
      {
        mayOperate: context.get('role') === 'operate',
        order: await findOrder(app, context, context.req.query('order')),
      },
    ),
  );
  app.get('/c/:campaign/order', (context) => orderPage(connections, context));
  app.post('/c/:campaign/order', (context) => postOrder({ app, connections }, context));
  app.get('/c/:campaign/attempts', (context) => attemptsPage(app, context));
  app.get('/c/:campaign/search', (context) => searchPage(app, context));
  app.get('/c/:campaign/attempt', (context) => attemptPage({ app, reader, textsOf }, context));
  app.get('/c/:campaign/approvals', (context) => approvalsPage({ app, connections }, context));
  app.get('/c/:campaign/flips', (context) => flipsPage(context, reader));
}

/** Answers a page's request that is refused. */
export const sendProblemPage = (context: Context, { status, problem }: RequestError): Response =>
  sendDocument(
    context,
    'Refused',
    html`<main class="narrow">
      ${crumbs([home])}
      <h1>Refused</h1>
      <p role="alert" class="problem">${problem.error}</p>
    </main>`,
    status,
  );
