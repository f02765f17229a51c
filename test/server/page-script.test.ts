import { WorkflowNotFoundError } from '@temporalio/client';
import axe from 'axe-core';
import { JSDOM, VirtualConsole, type DOMWindow } from 'jsdom';
import { Agent, EventSource, type Dispatcher } from 'undici';
import type { Connections } from '../../src/client/connections';
import { campaignWorkflowId } from '../../src/domain/campaign/ids';
import type { CampaignState } from '../../src/domain/campaign/progress';
import { resolveSpec } from '../../src/specification/read-spec';
import { fullCampaign, ids } from '../store/support/campaign-rows';
import { finishedCampaign } from '../store/support/sound-campaign';
import { attempt, candidate, newCampaign, step, task, type NewCampaign } from '../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { hangTimeoutMs, until } from '../support/stack';
import { scriptedTemporal } from '../support/scripted-temporal';
import { connectionsTo, runServer, tokens, type TestServer } from './running-server';

// The pages with their script in a document of jsdom, which has no layout. `npm run pictures -- --check` visits them in Chromium.

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

let database: FreshDatabase;
let server: TestServer;

/** States of workflows. A campaign without one is shown as it is in the database. */
const states = new Map<string, Partial<CampaignState>>();
const temporal = scriptedTemporal(
  (id) =>
    states.has(id)
      ? Promise.resolve({ status: { name: 'RUNNING' }, memo: {}, raw: {} })
      : Promise.reject(new WorkflowNotFoundError('none', id, undefined)),
  (id) => Promise.resolve(states.get(id)),
);
const start = (port = 0): Promise<TestServer> =>
  runServer(database.url, {
    port,
    connections: connectionsTo(database.url, temporal as unknown as Connections['temporal']),
  });
const opened: JSDOM[] = [];
const streams: EventSource[] = [];
beforeAll(async () => {
  database = await freshDatabase();
  server = await start();
});
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
  for (const { window } of opened.splice(0)) window.close();
});
afterAll(async () => {
  await server.close();
  await database.drop();
});

async function runningCampaign(): Promise<NewCampaign> {
  const campaign = await finishedCampaign(database.pool);
  await database.pool.query(`update campaigns set status = 'running', finished_at = null where id = $1`, [
    campaign.campaignId,
  ]);
  return campaign;
}

/** A campaign that has two candidates and waits until an operator decides about them. */
async function waitingCampaign(): Promise<NewCampaign> {
  const campaign = await fullCampaign(database.pool);
  const { store, key, name, campaignId } = campaign;
  await store.tasks.propose(key, [candidate('one', { contentKey: '1' }), candidate('two', { contentKey: '2' })]);
  const spec = resolveSpec({ name, seed: 1, environment: { name: 'intercode-sql' }, recipe: 'combined' }, name);
  await database.pool.query('update campaigns set spec = $2 where id = $1', [campaignId, spec]);
  const at = { iteration: key.iteration, phase: 'validate', note: null, score: null } as const;
  const progress = { ...at, parked: '2 tasks wait', parkedCode: 'ApprovalNeeded' } as const;
  states.set(campaignWorkflowId(name), { campaignId, name, status: 'parked', progress });
  return campaign;
}

const cookie = `coevolve_token=${tokens.operate}`;

/** Opens a page as a browser that holds the operators' token. `followed` has the links that were followed. */
async function open(path: string): Promise<{ window: DOMWindow; document: Document; followed: string[] }> {
  const url = server.url + path;
  const html = await (await fetch(url, { headers: { cookie } })).text();
  const dom = new JSDOM(html, {
    url,
    runScripts: 'dangerously',
    pretendToBeVisual: true,
    resources: 'usable',
    virtualConsole: new VirtualConsole(),
    beforeParse: addMissingParts,
  });
  opened.push(dom);
  const followed: string[] = [];
  dom.window.document.addEventListener('click', (event) => {
    followed.push((event.target as HTMLAnchorElement).href.slice(server.url.length));
    event.preventDefault();
  });
  await new Promise((resolve) => dom.window.addEventListener('load', resolve));
  return { window: dom.window, document: dom.window.document, followed };
}

/** What browsers have and jsdom lacks. */
function addMissingParts(window: DOMWindow): void {
  const withCookie =
    (dispatch: Dispatcher['dispatch']): Dispatcher['dispatch'] =>
    (options, handler) =>
      dispatch({ ...options, headers: { ...(options.headers as Record<string, string>), cookie } }, handler);
  const dispatcher = new Agent().compose(withCookie);
  Object.assign(window, {
    fetch: (url: string, init: RequestInit) => fetch(url, { ...init, headers: { cookie } }),
    EventSource: class extends EventSource {
      constructor(path: string) {
        super(new URL(path, server.url).href, { dispatcher });
        streams.push(this);
      }
      /** The package reports an aborted request also after `close`, when the window is gone. */
      override dispatchEvent = (event: Event): boolean => !streams.includes(this) || super.dispatchEvent(event);
    },
  });
  window.Element.prototype.scrollIntoView = () => undefined;
  window.HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
}

const press = (window: DOMWindow, key: string): boolean =>
  (window.document.activeElement ?? window.document.body).dispatchEvent(
    new window.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
  );

test('j and k go through the rows of a list, and the keys of links follow them', async () => {
  const { name } = await fullCampaign(database.pool);
  const { window, document, followed } = await open(`/c/${name}/attempts`);
  const rows = [...document.querySelectorAll('tbody th a')];
  expect(rows.length).toBeGreaterThan(2);
  press(window, 'j');
  press(window, 'j');
  expect(document.activeElement).toBe(rows[1]);
  press(window, 'k');
  expect(document.activeElement).toBe(rows[0]);
  press(window, 'u');
  expect(followed).toEqual([`/c/${name}`]);
});

test('a key that is written into a field acts as nothing else', async () => {
  const { name } = await fullCampaign(database.pool);
  const { window, document, followed } = await open(`/c/${name}/attempts`);
  press(window, '/');
  const field = document.activeElement;
  expect(field?.tagName).toBe('INPUT');
  expect(press(window, 'u')).toBe(true);
  expect(press(window, 'j')).toBe(true);
  expect([document.activeElement, followed]).toEqual([field, []]);
});

test('two attempts have keys for their first difference and for swapped sides', async () => {
  const { store, key, name } = await fullCampaign(database.pool);
  await store.tasks.seed(key, [task('long')]);
  for (const [i, last] of ['go', 'stop'].entries())
    await store.trajectories.save(
      attempt(key, {
        purpose: 'train',
        policyId: ids.start,
        taskId: 'long',
        attempt: i,
        turns: [step('look'), step(last)],
      }),
    );
  const { rows } = await server.get<{ rows: { id: string }[] }>(`/api/v1/campaigns/${name}/attempts?task_id=long`);
  const [one, two] = rows.map(({ id }) => encodeURIComponent(id));
  const { window, followed } = await open(`/c/${name}/attempt?id=${one}&vs=${two}`);
  press(window, 'd');
  press(window, 'x');
  expect(followed).toEqual([
    `/c/${name}/attempt?id=${one}&vs=${two}#divergence`,
    `/c/${name}/attempt?id=${two}&vs=${one}`,
  ]);
});

test('the key ? lists all keys of a page with their meaning', async () => {
  const { name } = await runningCampaign();
  const { window, document } = await open(`/c/${name}`);
  press(window, '?');
  const listed = [...document.querySelectorAll('dialog dt')].map((term) => [
    term.textContent,
    term.nextElementSibling!.textContent,
  ]);
  expect(listed).toEqual(
    expect.arrayContaining([
      ['u', 'Campaigns'],
      ['a', 'Attempts'],
      ['o', 'give an order'],
      ['j', 'next row'],
      ['?', 'keys'],
    ]),
  );
});

test('tasks that wait for an operator are gone through and marked with keys alone', async () => {
  const { name } = await waitingCampaign();
  const { window, document } = await open(`/c/${name}/approvals`);
  press(window, 'j');
  press(window, 'j');
  expect((document.activeElement as HTMLInputElement).value).toBe('two');
  expect(press(window, ' ')).toBe(true); // the browser's own key marks it
});

test('a page shows an event without being loaded again: open parts stay open, and the focus stays', async () => {
  const { store, campaignId, name } = await runningCampaign();
  const { document } = await open(`/c/${name}`);
  await until(async () => document.querySelector('details') !== null); // the report may be collected meanwhile
  const part = document.querySelector('details')!;
  part.open = true;
  const link = document.querySelector<HTMLElement>('[accesskey="a"]')!;
  link.focus();
  const status = () => document.querySelector('.facts .badge')!.textContent;
  expect(status()).toBe('running');
  await store.campaigns.setStatus(campaignId, 'paused');
  await store.campaigns.recordEvent(campaignId, { kind: 'pause', actor: 'test' });
  await until(async () => status() === 'paused');
  expect(document.querySelector('details')).toBe(part);
  expect([part.open, document.activeElement === link]).toEqual([true, true]);
});

test('a page says when its server no longer answers, and shows the newest when it does again', async () => {
  const { campaignId, name } = await newCampaign(database.pool);
  const { document } = await open('/');
  const port = Number(new URL(server.url).port);
  await server.close();
  await until(async () => document.querySelector('#lost') !== null);
  expect(document.querySelector('#lost')!.textContent).toContain('does not answer since');
  await database.pool.query(`update campaigns set status = 'aborted', finished_at = now() where id = $1`, [campaignId]);
  server = await start(port);
  const row = () => document.querySelector(`a[href="/c/${name}"]`)!.closest('tr')!;
  await until(async () => row().textContent.includes('aborted'));
  expect(document.querySelector('#lost')).toBe(null);
});

test('axe finds nothing serious on any page', async () => {
  const { name } = await waitingCampaign();
  const { rows } = await server.get<{ rows: { id: string }[] }>(`/api/v1/campaigns/${name}/attempts`);
  const [one, two] = rows.map(({ id }) => encodeURIComponent(id));
  const pages = ['', '/attempts', `/attempt?id=${one}&vs=${two}`, '/flips', '/approvals', '/order'];
  for (const path of ['/', '/e', ...pages.map((page) => `/c/${name}${page}`)]) {
    const { window } = await open(path);
    window.eval(axe.source);
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run({
      rules: { 'color-contrast': { enabled: false } }, // needs a layout
    });
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    expect([path, serious.map(({ id, nodes }) => [id, nodes[0]!.html])]).toEqual([path, []]);
  }
});
