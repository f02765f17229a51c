import { requireUsefulAnswers } from '../../../src/activities/context/useless-answers';
import { reflectionPrompt } from '../../../src/llm/prompts/reflection';
import { promptId } from '../../../src/llm/prompts/prompt';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { modelCall, modelCampaign, settlement, type ModelCampaign } from '../../store/support/model-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const reflection = {
  summary: 's',
  failureCause: 'f',
  instabilityPattern: 'i',
  focusPatterns: ['p'],
  explorationObjectives: ['o'],
  doNotRepeat: ['d'],
};

async function answered({ store, key, spec }: ModelCampaign, callId: string, text: string): Promise<void> {
  const { provider, model } = spec.llm!.models.reflector;
  const call = modelCall(key, callId, { provider, model, prompt: promptId(reflectionPrompt) });
  await store.modelCalls.reserve(call, { llmTokens: 1, usd: 0 });
  await store.modelCalls.settle(call, 1, settlement({ answer: { kind: 'text', text } }));
}

const check = (c: ModelCampaign, uselessAnswers: number | null) =>
  requireUsefulAnswers(c, { ...c.spec, llm: { ...c.spec.llm!, uselessAnswers } }, c.key, 'reflector');

test('a bound of useless answers in a row ends the work, and shows three of them', async () => {
  const c = await modelCampaign(database.pool);
  await answered(c, 'reflect/0', JSON.stringify(reflection));
  for (const n of [1, 2, 3]) {
    await answered(c, `reflect/${n}`, `ok ${n}`);
    await answered(c, `reflect/${n}/repair`, `still ok ${n}`); // the final answer: the call counts once
  }
  await check(c, 4);
  const error: unknown = await check(c, 3).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'UselessAnswers' });
  expect((error as Error).message.split('\n')).toEqual([
    expect.stringMatching(/^the last 3 answers of the reflector \(.+\) could not be used; `coevolve calls \S+ --role/),
    ...[3, 2, 1].map((n) => `"still ok ${n}": found no JSON object, expected one`),
  ]);
  await check(c, null);
});

test('one usable answer begins the count again', async () => {
  const c = await modelCampaign(database.pool);
  for (const n of [1, 2, 3]) await answered(c, `reflect/${n}`, 'ok');
  await answered(c, 'reflect/4', JSON.stringify(reflection));
  await check(c, 2);
  await answered(c, 'reflect/5', 'ok');
  await check(c, 2);
  await answered(c, 'reflect/6', 'ok');
  await expect(check(c, 2)).rejects.toMatchObject({ code: 'UselessAnswers' });
});
