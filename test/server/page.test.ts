import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { removeHome, temporaryHome } from '../stack/temporary-home';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { fullCampaign, ids } from '../store/support/campaign-rows';
import { attempt, step, task } from '../store/support/new-campaign';
import { finishedCampaign } from '../store/support/sound-campaign';
import { connectionsTo, runServer, tokens, type TestServer } from './running-server';

let database: FreshDatabase;
let server: TestServer;
let name: string;
const hostile = '<script>alert(1)</script>';
beforeAll(async () => {
  database = await freshDatabase();
  ({ name } = await finishedCampaign(database.pool));
  server = await runServer(database.url);
});
afterAll(async () => {
  await server.close();
  await database.drop();
});

type Visit = { token?: string; method?: string; form?: Record<string, string>; headers?: Record<string, string> };

/** A browser's request, which does not follow redirects. */
const visit = (path: string, { token = tokens.read, form, headers = {}, ...init }: Visit = {}): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    redirect: 'manual',
    ...init,
    headers: { cookie: `coevolve_token=${token}`, ...headers },
    ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
  });

const textOf = async (path: string): Promise<string> => {
  const response = await visit(path);
  expect([path, response.status]).toEqual([path, 200]);
  return response.text();
};

test('a browser without a token gets the form, and afterwards the page that it asked for', async () => {
  const first = await visit(`/c/${name}/attempts?iteration=1`, { token: '' });
  expect([first.status, first.headers.get('location')]).toEqual([
    303,
    `/login?next=${encodeURIComponent(`/c/${name}/attempts?iteration=1`)}`,
  ]);
  const wrong = await visit('/login', { form: { token: 'guess', next: '/' } });
  expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null]);
  const right = await visit('/login', { form: { token: tokens.read, next: '/c/x' } });
  expect([right.status, right.headers.get('location')]).toEqual([303, '/c/x']);
  expect(right.headers.get('set-cookie')).toMatch(/^coevolve_token=r+; .*HttpOnly.*SameSite=Strict/);
});

test.each(['//evil.example', '/\\evil.example', 'https://evil.example'])(
  'a sign-in never leads to %s',
  async (next) => {
    const answer = await visit('/login', { form: { token: tokens.read, next } });
    expect(answer.headers.get('location')).toBe('/');
  },
);

test('wrong tokens are refused after ten a minute', async () => {
  const statuses = new Set<number>();
  for (let i = 0; i < 12; i++)
    statuses.add((await visit('/login', { form: { token: `guess ${i}`, next: '/' } })).status);
  expect(statuses).toContain(429);
});

test('wrong tokens in cookies are refused after ten a minute, and a right one passes', async () => {
  const guessed = await runServer(database.url);
  try {
    const statusOf = async (token: string): Promise<number> =>
      (await fetch(guessed.url, { redirect: 'manual', headers: { cookie: `coevolve_token=${token}` } })).status;
    const statuses = new Set<number>();
    for (let i = 0; i < 12; i++) statuses.add(await statusOf(`guess ${i}`));
    expect(statuses).toEqual(new Set([303, 429]));
    expect(await statusOf(tokens.read)).toBe(200);
  } finally {
    await guessed.close();
  }
});

test('every page allows no frames, and scripts, requests and forms of this server alone', async () => {
  for (const path of [
    '/',
    `/c/${name}`,
    `/c/${name}/attempts`,
    `/c/${name}/flips`,
    '/login',
    '/c/none',
    '/e',
    '/e/none',
  ]) {
    const { headers } = await visit(path);
    const policy = headers.get('content-security-policy');
    expect([path, policy]).toEqual([path, expect.stringContaining("default-src 'none'")]);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self'");
    const directives = policy!.split('; ').map((directive) => directive.split(' '));
    expect(directives.filter(([of]) => /^(script|connect|worker)-/.test(of!))).toEqual([
      ['script-src-elem', "'self'"],
      ['connect-src', "'self'"],
    ]);
  }
});

test('the list shows every campaign with its state, and those that wait first', async () => {
  const { name: waiting, campaignId } = await fullCampaign(database.pool);
  await database.pool.query(`update campaigns set status = 'parked' where id = $1`, [campaignId]);
  await database.pool.query(
    `insert into events (campaign_id, kind, actor, detail) values ($1, 'parked', 'coevolve', $2)`,
    [campaignId, { reason: `the disk is full ${hostile}`, code: 'DiskFull' }],
  );
  const page = await textOf('/');
  expect(page).toContain('the disk is full &lt;script&gt;');
  expect(page).not.toContain(hostile);
  expect(page.indexOf(`/c/${waiting}"`)).toBeLessThan(page.indexOf(`/c/${name}"`));
});

test('the page of a campaign that has ended needs no Temporal server', async () => {
  expect(await textOf(`/c/${name}`)).toMatch(/class="badge finished"/);
});

test('the filters of attempts are in the address, and a wrong one is named', async () => {
  const page = await textOf(`/c/${name}/attempts?purpose=train`);
  expect(page).toContain('<option value="train" selected>train</option>');
  expect(page).toMatch(/attempt\?id=1%2Ftrain%2F/);
  expect(page).not.toContain('expert%2F');
  expect(await textOf(`/c/${name}/attempts?min_reward=2`)).toContain('min_reward: found');
});

test('two attempts open at the first action that differs, with their texts as texts', async () => {
  const { store, key, name: campaign } = await fullCampaign(database.pool);
  const turns = (...actions: string[]) => ({ turns: actions.map((action) => step(action)), turnCount: actions.length });
  await store.tasks.seed(key, [task('long')]);
  const one = attempt(key, {
    purpose: 'train',
    policyId: ids.start,
    taskId: 'long',
    attempt: 0,
    ...turns('look', 'open  door', hostile),
  });
  const two = attempt(key, {
    purpose: 'train',
    policyId: ids.start,
    taskId: 'long',
    attempt: 1,
    ...turns('look', 'open door', 'go', 'stop'),
  });
  await store.trajectories.save(one);
  await store.trajectories.save(two);
  const { rows } = await database.pool.query<{ id: string }>(
    `select id from trajectories where campaign_id = $1 and task_id = 'long' order by attempt`,
    [key.campaignId],
  );
  const [left, right] = rows.map(({ id }) => encodeURIComponent(id));
  const response = await visit(`/c/${campaign}/attempt?id=${left}&vs=${right}`);
  const page = await response.text();
  expect(page).toContain('first difference: action 3');
  expect(page).toContain('2 equal actions before');
  expect(await textOf(`/c/${campaign}/attempt?id=${left}&vs=${right}&from=3`)).not.toContain('equal actions before');
  expect(page.slice(page.indexOf('id="divergence"'))).toMatch(/^[^]*?action 3\b/);
  expect(page).not.toContain('action 0');
  expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(page).not.toContain(hostile);
  expect(page).toContain('The attempt has ended.');
});

test('a long attempt is shown in parts, and a long text is cut with a link to the whole', async () => {
  const { store, key, name: campaign } = await fullCampaign(database.pool);
  await store.tasks.seed(key, [task('endless')]);
  const long = 'x'.repeat(5_000);
  const turns = Array.from({ length: 250 }, (_, i) => step(i === 120 ? `${long} the end` : `go ${i + 1}`));
  const played = { purpose: 'train', policyId: ids.start, taskId: 'endless', turns } as const;
  await store.trajectories.save(attempt(key, played));
  const { rows } = await server.get<{ rows: { id: string }[] }>(
    `/api/v1/campaigns/${campaign}/attempts?task_id=endless`,
  );
  const address = `/c/${campaign}/attempt?id=${encodeURIComponent(rows[0]!.id)}`;
  const first = await textOf(address);
  expect([first.includes('>go 100<'), first.includes('>go 101<')]).toEqual([true, false]);
  expect(first).toMatch(/Actions 1 to 100 of 250/);
  const second = await textOf(/accesskey="n" href="([^"]*)"/.exec(first)![1]!.replaceAll('&amp;', '&'));
  expect([second.includes('>go 101<'), second.includes('>go 200<'), second.includes('the end')]).toEqual([
    true,
    true,
    false,
  ]);
  const whole = /href="([^"]*whole=121[^"]*)"/.exec(second)![1]!.replaceAll('&amp;', '&');
  expect(await textOf(whole)).toContain('the end');
});

test('the tokens of an action are marked by their probability, as texts', async () => {
  const { store, key, name: campaign } = await fullCampaign(database.pool);
  const config = temporaryHome();
  const artifacts = artifactStore(config.artifacts);
  await mkdir(artifacts.policyPath(ids.start), { recursive: true });
  const model = { type: 'BPE', vocab: { go: 4, '<b>': 5 }, merges: [] };
  const parts = { version: '1.0', added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null };
  const tokenizer = JSON.stringify({ ...parts, decoder: null, model });
  await writeFile(join(artifacts.policyPath(ids.start), 'tokenizer.json'), tokenizer);
  await writeFile(join(artifacts.policyPath(ids.start), 'tokenizer_config.json'), '{}');
  await store.tasks.seed(key, [task('sampled')]);
  const turns = [{ ...step('go<b>'), logprobs: [-0.001, Math.log(0.04)] }];
  await store.trajectories.save(attempt(key, { purpose: 'train', policyId: ids.start, taskId: 'sampled', turns }));
  const shown = await runServer(database.url, { connections: { ...connectionsTo(database.url), artifacts } });
  try {
    const id = `1/train/${ids.start.slice(0, 12)}/sampled/0`;
    const answer = await fetch(`${shown.url}/c/${campaign}/attempt?id=${encodeURIComponent(id)}`, {
      headers: { cookie: `coevolve_token=${tokens.read}` },
    });
    expect(await answer.text()).toContain(
      '<pre class="action">go<mark class="p4" title="probability 0.04">&lt;b&gt;</mark></pre>',
    );
  } finally {
    await shown.close();
    await removeHome(config);
  }
});

test('a search lists the places of a text, and each opens its action', async () => {
  const { store, key, name: campaign } = await fullCampaign(database.pool);
  await store.tasks.seed(key, [task('sought')]);
  const turns = [step('look'), step(`open the red ${hostile} door`)];
  await store.trajectories.save(attempt(key, { purpose: 'train', policyId: ids.start, taskId: 'sought', turns }));
  const page = await textOf(`/c/${campaign}/search?text=red`);
  expect(page).toContain('open the red &lt;script&gt;');
  const [, place] = /href="([^"]*from=2)"/.exec(page)!;
  const shown = await textOf(place!.replaceAll('&amp;', '&'));
  expect([shown.includes('action 1<'), shown.includes('action 2, 2 tokens')]).toEqual([false, true]);
  expect(await textOf(`/c/${campaign}/search?text=nowhere`)).toContain('Not among');
});

test('an attempt says why it is in the training data', async () => {
  const { name: campaign } = await fullCampaign(database.pool);
  const page = await (await visit(`/c/${campaign}/attempt?id=${encodeURIComponent(ids.failed)}`)).text();
  expect(page).toContain('It is flagged forgetting');
  expect(page).toContain('1/target/expert-target/0');
  const expert = await (await visit(`/c/${campaign}/attempt?id=${encodeURIComponent(ids.expert)}`)).text();
  expect(expert).toMatch(/The job campaign\/\S+ was trained on it/);
});

test('the tasks that flipped between the first and the last policy open both attempts', async () => {
  const { store, key, campaignId, name: campaign } = await fullCampaign(database.pool);
  const dev = { split: 'held-out' } as const;
  await store.tasks.seed(key, [task('gained', dev), task('lost', dev), task('same', dev)]);
  const scores = { gained: [0, 1], lost: [1, 0.5], same: [1, 1] };
  for (const [taskId, rewards] of Object.entries(scores))
    for (const [i, policyId] of [ids.start, ids.trained].entries())
      await store.trajectories.save(attempt(key, { purpose: 'evaluation', policyId, taskId, reward: rewards[i]! }));
  for (const [iteration, policyId] of [ids.start, ids.trained].entries())
    await database.pool.query(
      `insert into evaluations (campaign_id, iteration, policy_id, tasks, successes, success_low, success_high, mean_reward, epoch)
       values ($1, $2, $3, 3, 2, 0, 1, 0.5, 1) on conflict do nothing`,
      [campaignId, iteration, policyId],
    );
  const page = await textOf(`/c/${campaign}/flips?set=dev`);
  expect(page.replaceAll(/\s+/g, ' ')).toContain('1 task of dev turned to solved, 1 task to failed');
  expect(page).toMatch(/attempt\?id=[^"]*gained[^"]*&amp;vs=[^"]*gained/);
  expect(page).not.toContain('>same<');
  const back = await textOf(`/c/${campaign}/flips?set=dev&before=${ids.trained}&after=${ids.start}`);
  expect(back.indexOf('lost')).toBeLessThan(back.indexOf('gained'));
  expect(await textOf(`/c/${campaign}/flips?set=other`)).toContain('No task turned');
});

test('an unknown campaign and an unknown attempt are refused in words', async () => {
  const campaign = await visit('/c/none');
  expect([campaign.status, await campaign.text()]).toEqual([404, expect.stringContaining('none')]);
  expect((await visit(`/c/${name}/attempt?id=none`)).status).toBe(404);
});
