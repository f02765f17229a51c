import { SearchPage } from '../../src/server/rows/search-rows';
import { ids } from '../store/support/campaign-rows';
import { attempt, step, task, type NewCampaign } from '../store/support/new-campaign';
import type { TestServer } from './running-server';
import { serveCampaign } from './served-campaign';

type Page = { rows: Record<string, unknown>[]; next: string | null };

let campaign: NewCampaign;
let server: TestServer;
beforeAll(async () => {
  const served = await serveCampaign();
  ({ campaign, server } = served);
  return served.close;
});

const pathOf = (list: string): string => `/api/v1/campaigns/${campaign.name}/${list}`;

test.each(['reward', 'turns', 'duration', 'tokens'])(
  'attempts of an iteration sorted by %s have each row once, in both orders',
  async (sort) => {
    const { store, key } = campaign;
    await store.tasks.seed(key, [task(`sorted-${sort}`)]);
    for (const [n, reward] of [0.5, 1, null, 0, 0.5].entries())
      await store.trajectories.save(
        attempt(key, {
          purpose: 'train',
          policyId: ids.start,
          taskId: `sorted-${sort}`,
          attempt: n,
          ...(reward === null ? { outcome: 'time-limit', rawScore: null, fault: 'late' } : {}),
          reward,
          turns: Array.from({ length: 1 + ((n * 2) % 5) }, () => step('select 1')),
          promptTokens: (n * 3) % 5,
          seconds: (n * 4) % 5,
        }),
      );
    const sorted = async (order: string) => {
      const rows: Record<string, unknown>[] = [];
      let cursor = '';
      do {
        const page: Page = await server.get(
          pathOf(`attempts?iteration=1&task_id=sorted-${sort}&sort=${sort}&order=${order}&limit=2${cursor}`),
        );
        rows.push(...page.rows);
        cursor = page.next === null ? '' : `&cursor=${page.next}`;
      } while (cursor !== '');
      return rows;
    };
    const descending = await sorted('desc');
    const values = descending.map((row) => ({
      reward: row['reward'] ?? -1,
      turns: row['turns'],
      duration: row['seconds'],
      tokens: Number(row['prompt_tokens']) + Number(row['completion_tokens']),
    }));
    const column = values.map((value) => Number(value[sort as keyof typeof value]));
    expect(column).toEqual(column.toSorted((a, b) => b - a));
    expect(new Set(descending.map(({ id }) => id)).size).toBe(5);
    expect(await sorted('asc')).toEqual(descending.toReversed());
  },
);

test('a count is exact, for the rows of the filters', async () => {
  const page = await server.get<Page & { total: object }>(pathOf('tasks?verdict=admitted&count=true&limit=1'));
  const all = await server.get<Page>(pathOf('tasks?verdict=admitted'));
  expect(page.total).toEqual({ count: all.rows.length, is_exact: true });
});

test('a search finds goals, actions and observations with an excerpt, page by page, and takes no wildcards', async () => {
  const { store, key } = campaign;
  await store.tasks.seed(key, [task('searched')]);
  const turns = (action: string, answer: string) => [
    step('look'),
    { ...step(action), observation: [{ role: 'user', content: answer }] },
  ];
  const played = { purpose: 'train', policyId: ids.start, taskId: 'searched' } as const;
  const texts = [
    ['open the Red door', 'nothing'],
    ['wait', 'a red "door"\nis 100% open'],
  ] as const;
  for (const [n, [action, answer]] of texts.entries())
    await store.trajectories.save(attempt(key, { ...played, attempt: n, turns: turns(action, answer) }));
  const search = async (text: string, query = '') =>
    SearchPage.parse(await server.get(pathOf(`search?text=${encodeURIComponent(text)}${query}`)));
  const places = (page: { rows: { place: string; ordinal: number | null }[] }) =>
    page.rows.map(({ place, ordinal }) => [place, ordinal]);
  expect(places(await search('RED'))).toEqual([
    ['observation', 1],
    ['action', 1],
  ]);
  expect((await search('red door')).rows[0]!.excerpt).toBe('open the Red door');
  expect(places(await search('red "door"\nis'))).toEqual([['observation', 1]]);
  expect(places(await search('100%'))).toEqual([['observation', 1]]);
  expect(places(await search('many SEARCHED'))).toEqual([
    ['goal', null],
    ['goal', null],
  ]);
  expect(places(await search('r_d'))).toEqual([]);
  const first = await search('red', '&limit=1');
  const second = await search('red', `&limit=1&cursor=${first.next}`);
  expect([places(first), places(second)]).toEqual([[['observation', 1]], [['action', 1]]]);
});
