import type { QueryResultRow } from 'pg';
import { testOfAll } from '../support/lane';
import { seedAnswers } from '../support/models/reference-judge';
import { startScriptedModel, type LoggedRequest, type ScriptedModel } from '../support/models/scripted-model';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';
import { fateOf, perContext, thousandCandidates } from './thousand-candidates';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const name = 'authored';
const budget = 40_000;
const kills = 10;
const model = { provider: 'scripted', model: 'big', price: { inputPerMillion: 1, outputPerMillion: 2 } };
const spec = {
  name,
  seed: 5,
  recipe: 'coevolve',
  iterations: 0,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['concert_singer', 'pets_1', 'poker_player', 'battle_death'], schema: true },
    trainTasks: 40,
    heldOutTasks: 160,
    maxTurns: 4,
  },
  llm: { models: { explorer: model } },
  budget: { llmTokens: budget },
  synthesis: { rule: 'by-author', initialTasks: 1000, exploration: { rounds: 1, maxTurns: perContext } },
  judge: { calibrationTasks: 6 },
  training: { init: { hiddenSize: 32, layers: 1 }, sft: { epochs: 1 } },
};

let server: ScriptedModel;
let stack: TestStack;
/** Tokens that the model had charged when the campaign parked at its budget. */
let chargedAtPark = 0;
let heldOut: string[] = [];

beforeAll(async () => {
  server = await startScriptedModel(
    thousandCandidates(
      () => heldOut,
      seedAnswers(() => stack.pool),
    ),
  );
  const provider = { url: server.url, concurrency: 8, breaker: { failures: 50 } };
  stack = await bringUpStack('synthesis', { scripted: provider });
  await stack.json('start', stack.specFile(spec));
  // The held-out tasks are stored before the first candidate is generated.
  heldOut = await until(async () => {
    const goals = await goalsOfHeldOut();
    return goals.length === 100 && goals;
  });
  await until(async () => (await stack.status(name)).progress.parked);
  chargedAtPark = charged(server.log);
  await stack.json('budget', 'raise', name, '--tokens', '50000000');
  for (let kill = 1; kill <= kills; kill++) {
    await server.arrived(server.log.length + 150); // requests are running
    process.kill(stack.pidOf('worker-llm'), 'SIGKILL');
    await stack.json('up');
  }
  await stack.waitForEnd(name);
});
afterAll(async () => {
  await stack?.remove();
  await server?.stop();
});

/** Returns held-out questions that no train task has, so that a leak has no other reason for a rejection. */
async function goalsOfHeldOut(): Promise<string[]> {
  const found = await rows<{ goal: string }>(
    `select distinct goal from tasks h where split = 'held-out'
       and not exists (select from tasks t where t.split = 'train' and t.goal = h.goal) order by goal limit 100`,
  );
  return found.map(({ goal }) => goal);
}

async function rows<Row extends QueryResultRow>(sql: string): Promise<Row[]> {
  return (await stack.pool.query<Row>(sql)).rows;
}

const tokensOf = ({ usage }: LoggedRequest): number => (usage ? usage.promptTokens + usage.completionTokens : 0);
const charged = (log: readonly LoggedRequest[]): number => log.reduce((sum, one) => sum + tokensOf(one), 0);

describe('a thousand candidates of a language model whose worker is killed ten times', () => {
  testOfAll('exactly the 600 new candidates are admitted once; the others have their reason', async () => {
    const verdicts = await rows(
      `select coalesce(reason, verdict) as fate, count(*)::integer as tasks
       from tasks where origin = 'random' group by 1 order by 1`,
    );
    expect(verdicts).toEqual([
      { fate: 'admitted', tasks: 600 },
      { fate: 'duplicate', tasks: 200 },
      { fate: 'held-out', tasks: 100 },
      { fate: 'not-executable', tasks: 100 },
    ]);
    const admitted = await rows<{ actions: string[] }>(
      `select reference_actions as actions from tasks where origin = 'random' and verdict = 'admitted'`,
    );
    const numbers = admitted.map(({ actions }) => Number(/\+ (\d+)/.exec(actions[0]!)![1]));
    expect(new Set(numbers).size).toBe(600);
    expect(numbers.filter((n) => fateOf(n) !== 'new')).toEqual([]);
  });

  testOfAll('the campaign parked below its budget and continued after the raise', async () => {
    expect(chargedAtPark).toBeGreaterThan(0);
    expect(chargedAtPark).toBeLessThanOrEqual(budget);
    expect(await rows(`select kind from events where kind in ('parked', 'budget-raised') order by id limit 2`)).toEqual(
      [{ kind: 'parked' }, { kind: 'budget-raised' }],
    );
    expect(await rows('select status from campaigns')).toEqual([{ status: 'finished' }]);
  });

  testOfAll(
    "the waste in the ledger equals the paid but unused requests in the log of the model's server",
    async () => {
      const requests = await rows<{ id: string; outcome: string | null; winner: boolean; tokens: number }>(
        `select c.name || '/' || t.call_id || '/' || t.ordinal as id, t.outcome, coalesce(m.request = t.ordinal, false) as winner,
         coalesce((select amount from ledger l where l.campaign_id = t.campaign_id and l.unit = 'llm-tokens'
           and l.entry = 'settle' and l.key = 'call/' || t.call_id || '/' || t.ordinal), 0) as tokens
       from model_requests t join campaigns c on c.id = t.campaign_id
       left join model_calls m on m.campaign_id = t.campaign_id and m.id = t.call_id`,
      );
      const ledger = new Map(requests.map((one) => [one.id, one]));
      const ids = server.log.map(({ id }) => id!);
      expect(new Set(ids).size).toBe(ids.length); // no request was sent twice
      expect(ids.filter((id) => !ledger.has(id))).toEqual([]); // and all are in the ledger

      const paid = server.log.filter(({ usage }) => usage !== null);
      const settled = paid.filter(({ id }) => ledger.get(id!)!.outcome === 'answered');
      expect(charged(settled)).toBe(requests.reduce((sum, { tokens }) => sum + tokens, 0));
      expect(paid.filter(({ id }) => ledger.get(id!)!.outcome === 'not-charged')).toEqual([]);

      const unused = paid.filter(({ id }) => !ledger.get(id!)!.winner);
      const unconfirmed = unused.filter(({ id }) => ledger.get(id!)!.outcome === 'unconfirmed'); // the campaign has ended
      expect(unconfirmed.length).toBeGreaterThan(0); // a killed worker has open requests
      const { waste } = await stack.json<{ waste: Waste }>('budget', name);
      expect(waste.confirmed).toMatchObject({
        calls: unused.length - unconfirmed.length,
        tokens: charged(unused) - charged(unconfirmed),
      });
      // An unconfirmed request is booked with its reservation, which is an upper bound of its cost.
      expect(waste.unconfirmed.calls).toBeGreaterThanOrEqual(unconfirmed.length);
      expect(waste.unconfirmed.tokens).toBeGreaterThanOrEqual(charged(unconfirmed));
    },
  );

  testOfAll('every answer of the server is used by exactly one stored call', async () => {
    const [counted] = await rows<{ calls: number; twice: number }>(
      `select count(*)::integer as calls, (count(*) - count(distinct id))::integer as twice from model_calls`,
    );
    const answered = new Set(
      server.log.filter(({ end, status: code }) => end === 'answered' && code === 200).map(({ id }) => callOf(id!)),
    );
    expect(counted).toEqual({ calls: answered.size, twice: 0 });
  });

  testOfAll('the lineage of an admitted task contains its exploration', async () => {
    const [task] = await rows<{ id: string }>(
      `select id from tasks where origin = 'random' and verdict = 'admitted' order by id limit 1`,
    );
    const { stdout } = await stack.cli('lineage', `${name}/${task!.id}`);
    const expected = ['context', 'explored in', 'abstraction', 'validation', 'judged completed', 'passed unique'];
    expect(expected.filter((text) => !stdout.includes(text))).toEqual([]);
  });

  testOfAll('the judge was calibrated before its first judgement', async () => {
    const [found] = await rows(
      `select true_positives as "truePositives", false_positives as "falsePositives", unusable from judge_calibrations`,
    );
    expect(found).toMatchObject({ truePositives: 6, falsePositives: 0, unusable: 0 });
    expect(await rows(`select count(*)::integer as n from judgements where kind = 'candidate'`)).toEqual([{ n: 900 }]);
  });
});

type Waste = Record<'confirmed' | 'unconfirmed', { calls: number; tokens: number; usd: number }>;

const callOf = (requestId: string): string => requestId.slice(0, requestId.lastIndexOf('/'));
