import { createEnvironments } from '../../src/envs/environments';
import { drawUntilDone } from '../../src/envs/server/draw-until-done';
import { caseSpec } from '../../src/prompt-eval/case-spec';
import { caseWorlds, type CaseWorld } from '../../src/prompt-eval/cases';
import { evaluatePrompts, type PromptEvaluation } from '../../src/prompt-eval/evaluate-prompts';
import { playableCases } from '../../src/prompt-eval/playable-cases';
import { undertakings } from '../scenarios/composed-worlds';
import { startEnvironmentServer, type EnvironmentServer } from '../support/environment-server';
import { testOfAll } from '../support/lane';
import type { KnownAnswers } from '../support/models/reference-judge';
import { startScriptedModel, type ScriptedModel } from '../support/models/scripted-model';
import { scriptedProviders } from '../support/models/scripted-provider';
import { requestKind } from '../support/models/sql-explorer';
import { worldExplorer } from '../support/models/world-explorer';

const others = caseWorlds.filter(({ name }) => name !== 'intercode-sql');
const tables = {
  ...undertakings,
  bfcl: [
    { query: 'Switch on the lights of the car.', actions: ["[setHeadlights(mode='on')]"] },
    { query: 'Fill five gallons into the tank.', actions: ['[fillFuelTank(fuelAmount=5.0)]'] },
    { query: 'Send Michael the text "hello".', actions: ["[send_message(receiver_id='USR006', message='hello')]"] },
    { query: 'Add my friend Ben as a contact.', actions: ["[add_contact(user_name='Ben')]"] },
  ],
};

let server: EnvironmentServer;
let model: ScriptedModel;
beforeAll(async () => {
  server = await startEnvironmentServer('--environments', others.map(({ name }) => name).join(','));
  model = await startScriptedModel();
});
afterAll(async () => {
  await model.stop();
  await server.kill();
});

/** Known answers of the cases: the reference, and the attempts that are called right. */
async function knownAnswers(worlds: readonly CaseWorld[]): Promise<KnownAnswers> {
  const { data } = createEnvironments({ environment: server });
  const lists = await Promise.all(
    worlds.map(async ({ name, options, draw, cases }) => {
      const drawn = await drawUntilDone(() => data.tasks(name, { split: 'train', ...draw, options }));
      return drawn.map(({ task_id: id, goal, reference_actions: reference }) => {
        const attempts = cases.find(({ task }) => task === id || task === goal)?.attempts ?? [];
        const right = attempts.filter(({ kind }) => kind === 'right').map(({ actions }) => actions);
        return {
          goal,
          answers: [reference, ...right.map((made) => (typeof made === 'function' ? made(reference) : made))],
        };
      });
    }),
  );
  return ({ goal }) => lists.flat().flatMap((known) => (known.goal === goal ? known.answers : []));
}

async function playCases(wanted: readonly CaseWorld[]): Promise<void> {
  const { data, open, health } = createEnvironments({ environment: server });
  const { cases, notPlayed } = playableCases(await health.read(), {});
  const worlds = wanted.filter(({ name }) => !notPlayed.some(({ environment }) => environment === name));
  const answers = await knownAnswers(worlds);
  const good = worldExplorer(tables, () => undefined, answers);
  const evaluate = (rule: typeof good, perWorld?: number): Promise<PromptEvaluation> => {
    model.answerBy(rule);
    const played = worlds.flatMap(({ name }) =>
      cases.filter(({ environment }) => environment === name).slice(0, perWorld),
    );
    return evaluatePrompts({
      environments: { environmentData: data, openEnvironment: open },
      providers: scriptedProviders(model.url),
      specOf: (world) => caseSpec(world, { provider: 'scripted', model: world.name }, []),
      cases: played,
    });
  };
  const evaluation = await evaluate(good);
  for (const { name, verdicts } of evaluation.cases)
    for (const { attempt, expected, found } of verdicts)
      expect([name, attempt, expected, found]).toEqual([name, attempt, ...Array(2).fill(/^ri|^ref/.test(attempt))]);
  for (const { reason } of evaluation.reasons) expect(reason).toBe('duplicate'); // both cases of a world have one table
  for (const { environment, admitted } of evaluation.environments)
    expect([environment, admitted.passed > 0]).toEqual([environment, true]);
  expect(evaluation.purposes.map(({ share }) => share)).toEqual([1, 1, 1, 1]);

  const wordy = await evaluate(
    (request) => (requestKind(request) === 'exploration' ? 'The session is over. Thank you very much.' : good(request)),
    1,
  );
  expect(wordy.purposes.find(({ purpose }) => purpose === 'explorer')).toMatchObject({ passed: 0 });
}

const [quick, slow] = [['bfcl'], ['appworld-mini', 'scienceworld']].map((names) =>
  others.filter(({ name }) => names.includes(name)),
);

test('the cases of BFCL have the results that they claim, and tasks of a good model pass all stages', () =>
  playCases(quick!));

testOfAll(
  'the cases of the small world of AppWorld and of ScienceWorld have the results that they claim',
  () => playCases(slow!),
  300_000,
);

test('an environment that the server does not host is left out with the reason, and refused where it was asked for', async () => {
  const { health } = createEnvironments({ environment: server });
  const read = { ...(await health.read()), unavailable: { scienceworld: 'run `npm run setup -- --with java`' } };
  const { scienceworld: _, ...hosted } = read.environments;
  const found = { ...read, environments: hosted };
  expect(playableCases(found, {}).notPlayed).toContainEqual({
    environment: 'scienceworld',
    reason: 'run `npm run setup -- --with java`',
  });
  expect(() => playableCases(found, { environment: ['scienceworld'] })).toThrow(
    'found no environment scienceworld to play: run `npm run setup -- --with java`',
  );
  expect(() => playableCases(found, { environment: ['bfcl'], case: ['rare-nested'] })).toThrow(
    /^--case, --environment: found none of the cases in these environments, expected of forgetting-group \(intercode-sql\)/,
  );
});
