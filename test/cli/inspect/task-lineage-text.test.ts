import { taskLineageText } from '../../../src/cli/inspect/task-lineage-text';
import type { TaskLineage } from '../../../src/store/tasks/task-lineage';

const lineage: TaskLineage = {
  forkedFrom: null,
  forkIteration: null,
  campaign: 'demo',
  task: {
    id: 'synthesized/1/rare/0.0',
    environment: 'intercode-sql',
    origin: 'synthesized',
    split: 'train',
    evaluationSet: null,
    goal: 'How many ships?',
    definition: {},
    features: {},
    contentKey: 'k',
    createdIteration: 1,
    referenceActions: ['select count(*) from ship', 'submit'],
    verdict: 'rejected',
    reason: 'quota',
    grader: 'environment',
    description: 'Counts rows.',
    confidence: 0.9,
    completionCriterion: 'a number',
    parentTaskId: 'seed',
    parentSignalId: '1/rare/0',
    relation: null,
    refill: 0,
    contextId: '1/rare/0',
  },
  parent: { id: 'seed', goal: 'Which ships?' },
  signal: { id: '1/rare/0', kind: 'rare', detail: { count: 1, total: 120 } },
  trajectories: [
    { id: '1/train/aaaa/seed/0', policyId: 'a', reward: 0, raised: true },
    { id: '1/train/aaaa/seed/1', policyId: 'a', reward: 0.5, raised: false },
  ],
  context: {
    id: '1/rare/0',
    status: 'reflected',
    failure: null,
    callId: 'reflect/1/rare/0',
    context: {
      summary: 'It joined.',
      failureCause: 'Wrong key.',
      instabilityPattern: 'Seldom joins.',
      focusPatterns: ['joins'],
      explorationObjectives: ['join three'],
      doNotRepeat: [],
    },
  },
  runs: [{ id: '1/rare/0/run/0', outcome: 'finished', reward: 0.25, turns: 8, fault: null }],
  abstraction: { id: '1/rare/0/abstraction', candidates: 3, callId: 'abstract/1/rare/0' },
  validation: {
    trajectory: { id: '1/validation/reference/t/0', outcome: 'scored', reward: 1, turns: 2 },
    verdicts: [
      { stage: 'executed', passed: true, reason: 'reward 1', detail: {} },
      { stage: 'quota', passed: false, reason: 'quota', detail: {} },
    ],
    judgements: [{ id: 'j', judge: 'judge@1 p/m at 0', completed: true, reason: 'it counted', callId: 'c' }],
  },
};

test('the text of a task goes from its signal to its validation', () => {
  expect(taskLineageText(lineage)).toBe(`task synthesized/1/rare/0.0 of campaign demo
synthesized, iteration 1, rejected: quota, rewarded by the environment
goal: How many ships?
  1. select count(*) from ship
  2. submit
parent: seed (Which ships?)

signal 1/rare/0: count 1, total 120
   trajectory           reward
>  1/train/aaaa/seed/0       0
   1/train/aaaa/seed/1     0.5

context 1/rare/0 (call reflect/1/rare/0)
  summary: It joined.
  cause: Wrong key.
  instability: Seldom joins.
  focus: joins
  objectives: join three

explored in
run             outcome   turns  reward  fault
1/rare/0/run/0  finished      8    0.25      -

abstraction 1/rare/0/abstraction (call abstract/1/rare/0): 3 candidates
  description: Counts rows.
  confidence: 0.9
  completed when: a number

validation
  1/validation/reference/t/0: scored, reward 1, 2 turns
  judged completed by judge@1 p/m at 0: it counted
  passed executed: reward 1
  failed quota: quota`);
});

test('a seed task has only its head and its validation', () => {
  const none = { parent: null, signal: null, trajectories: [], context: null, runs: [], abstraction: null };
  const validation = { trajectory: null, verdicts: [], judgements: [] };
  expect(taskLineageText({ ...lineage, ...none, validation }).split('\n\n')).toHaveLength(2);
});
