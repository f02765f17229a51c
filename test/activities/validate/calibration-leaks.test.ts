import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { knownItems } from '../../../src/activities/validate/judge-calibration';
import type { ChatMessage } from '../../../src/domain/rollout/turn';
import { judgeAnswer } from '../../support/models/reference-judge';
import { runsAll } from '../../support/lane';
import { calibrate, startJudging, type JudgedCampaigns } from '../rollout/judged-campaign';

const has = (folder: string): boolean => existsSync(path.resolve(__dirname, '../../..', folder));
const hasJava = spawnSync('java', ['-version']).status === 0;

/** Environments that compose tasks. */
const all = [
  { name: 'intercode-sql', installed: true, environment: { trainTasks: 300 }, calibrationTasks: 20 },
  { name: 'bfcl', installed: true, environment: { trainTasks: 60 }, calibrationTasks: 20 },
  {
    name: 'scienceworld',
    installed: hasJava,
    environment: { trainTasks: 4, options: { types: ['find-animal'] } },
    calibrationTasks: 4,
  },
  { name: 'textworld-express', installed: hasJava, environment: { trainTasks: 24 }, calibrationTasks: 8 },
  { name: 'appworld-mini', installed: has('.venv-appworld'), environment: { trainTasks: 3 }, calibrationTasks: 2 },
];
/** `npm test` tries two: the judge of ScienceWorld had seen how a session ended. */
const worlds = runsAll ? all : all.filter(({ name }) => name === 'intercode-sql' || name === 'scienceworld');

let judging: JudgedCampaigns;
beforeAll(async () => {
  judging = await startJudging(worlds.flatMap(({ name, installed }) => (installed ? [name] : [])).join(','));
});
afterAll(() => judging.stop());

/** Text of a judge's prompt without what was done and seen in the attempt. */
const withoutAttempt = (messages: readonly ChatMessage[]): string =>
  messages.map(({ content }) => content.replace(/<attempt>[^]*<\/attempt>/, '<attempt/>')).join('\n');

const hashOf = (text: string): number => createHash('sha256').update(text).digest()[0]!;

/** Agreement of the best judge that compares one number of each item with a bound. */
function bestByBound(items: readonly { isRight: boolean; value: number }[]): number {
  const agreements = items.flatMap(({ value: bound }) => {
    const share = items.filter(({ isRight, value }) => isRight === value > bound).length / items.length;
    return [share, 1 - share];
  });
  return Math.max(...agreements);
}

test.each(worlds)(
  'in the calibration of $name a judge that reads all but the attempt agrees with half of the items',
  { timeout: 300_000 },
  async ({ name, installed, environment, calibrationTasks }) => {
    if (!installed) return;
    const { store } = judging.services;
    const before = judging.model.log.length;
    judging.model.answerBy(({ messages }) => judgeAnswer(hashOf(withoutAttempt(messages)) % 2 === 0, 'blind'));
    const { key } = await judging.start({
      judge: { calibrationTasks },
      environment: { name, heldOutTasks: 2, ...environment },
    });
    await calibrate(judging.services, key);

    const items = knownItems(await store.judgeCalibrations.listItems(key));
    expect(items.length).toBeGreaterThanOrEqual(1.5 * calibrationTasks); // of two for each task
    const calls = judging.model.log.slice(before);
    const promptOf = new Map(
      calls.map(({ id, messages }) => [Number(/calibration\/judge@\d+\/(\d+)/.exec(id!)?.[1]), messages]),
    );
    const blind = new Map<string, Set<string>>();
    for (const { taskId, ordinal } of items)
      blind.set(taskId, (blind.get(taskId) ?? new Set()).add(withoutAttempt(promptOf.get(ordinal)!)));
    for (const [taskId, prompts] of blind) expect([taskId, prompts.size]).toEqual([taskId, 1]);
    const [calibration] = await store.judgeCalibrations.list(key.campaignId);
    expect(calibration!.agreement.rate).toBe(0.5);
    if (items.length < 40) return; // fewer agree with a bound by chance
    const sides = items.map(({ corruption, ordinal, transcript }) => ({
      isRight: corruption === null,
      numbers: [ordinal, transcript.turns.length, JSON.stringify(promptOf.get(ordinal)).length],
    }));
    for (const n of [0, 1, 2])
      expect(bestByBound(sides.map(({ isRight, numbers }) => ({ isRight, value: numbers[n]! })))).toBeLessThan(0.68);
  },
);
