import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createStore } from '../../src/store';
import { findViolations } from '../../src/store/audit/invariants';
import type { Undertaking } from '../support/models/world-explorer';
import { hasOpenEnv, startThirdPartyServer, type ThirdPartyServer } from '../support/third-party-server';
import type { TestStack } from '../support/stack';

const root = path.resolve(__dirname, '../..');
const python = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const logIn = python(
  [
    'accounts = apis.supervisor.show_account_passwords()',
    'passwords = {account["account_name"]: account["password"] for account in accounts}',
    'email = apis.supervisor.show_profile()["email"]',
    'token = apis.simple_note.login(username=email, password=passwords["simple_note"])["access_token"]',
    'notes = apis.simple_note.search_notes(access_token=token, page_limit=20)\nprint(notes)',
  ].join('\n'),
);
const deleteNote = (title: string): string =>
  python(
    `note = next(note for note in notes if note["title"] == "${title}")\n` +
      'apis.simple_note.delete_note(note_id=note["note_id"], access_token=token)',
  );

/** Environments without a generator of their own for language models, with requests that can be made there. */
export const undertakings = {
  guess: [
    { query: 'Guess fifty.', actions: ['50'] },
    { query: 'Try ten and then twenty.', actions: ['10', '20'] },
    { query: 'Which of 40 and 90 is nearer to it?', actions: ['40', '90', 'finish[40]'] },
    { query: 'Is the secret larger than 70?', actions: ['70', 'finish[no]'] },
    { query: 'Narrow it down from both ends.', actions: ['5', '100'] },
  ],
  'appworld-mini': [
    { query: 'Throw away what I wrote about seeds.', actions: [logIn, deleteNote('Seed order')] },
    { query: 'The list of books is read, delete it.', actions: [logIn, deleteNote('Reading list')] },
    { query: 'The choir is over, delete its dates.', actions: [logIn, deleteNote('Choir dates')] },
    { query: 'I am packed, the list can go.', actions: [logIn, deleteNote('Packing list')] },
    { query: 'Nothing grows there, forget the beds.', actions: [logIn, deleteNote('Garden beds')] },
  ],
  scienceworld: [
    {
      query: 'Bring the lighter of the kitchen into the bathroom.',
      actions: ['teleport to kitchen', 'pick up lighter', 'teleport to bathroom', 'drop lighter'],
    },
    {
      query: 'Which freezer stands in the workshop?',
      actions: ['teleport to workshop', 'look around', 'finish[an ultra low temperature freezer]'],
    },
    { query: 'Open the cupboard of the kitchen.', actions: ['teleport to kitchen', 'open cupboard'] },
    { query: 'Go to the greenhouse, and look around there.', actions: ['teleport to greenhouse', 'look around'] },
    { query: 'Open the closet of the bedroom.', actions: ['teleport to bedroom', 'open closet'] },
  ],
} satisfies Record<string, readonly Undertaking[]>;

export type World = keyof typeof undertakings;

export type WorldCase = { name: World; installed: boolean; environment: object };

export const worlds: readonly WorldCase[] = [
  {
    name: 'guess',
    installed: hasOpenEnv,
    environment: { trainTasks: 6, heldOutTasks: 2 },
  },
  {
    name: 'appworld-mini',
    installed: existsSync(path.join(root, '.venv-appworld')),
    environment: { trainTasks: 2, heldOutTasks: 1 },
  },
  {
    name: 'scienceworld',
    installed: spawnSync('java', ['-version']).status === 0,
    environment: { options: { types: ['find-animal'] }, trainTasks: 2, heldOutTasks: 1 },
  },
];

/** Third-party server with the settings file that names it, and experts for its tasks. */
export async function startGuessing(): Promise<ThirdPartyServer & { settings: string; experts: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-worlds-'));
  const [settings, experts] = [path.join(folder, 'environments.yaml'), path.join(folder, 'experts.jsonl')];
  const server = hasOpenEnv
    ? await startThirdPartyServer()
    : { url: 'http://127.0.0.1:9', kill: () => Promise.resolve() };
  writeFileSync(settings, JSON.stringify({ servers: { guess: { url: server.url } } })); // JSON is YAML
  const conversations = Array.from({ length: 20 }, (_, index) => ({
    id: `train/train-${index}`,
    conversations: [
      { from: 'human', value: 'Which number is it?' },
      { from: 'gpt', value: String(2 + 5 * index) },
    ],
  }));
  writeFileSync(experts, conversations.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return {
    url: server.url,
    settings,
    experts,
    async kill() {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Composed = { id: string; goal: string; grader: string; iteration: number; played: number };

export const lineageParts = ['goal: ', 'parent: ', 'context ', 'explored in', 'abstraction ', 'validation', 'judged'];

const campaignOf = ({ name }: WorldCase): string => `composed-${name}`;

/** Starts a small campaign whose first pool and whose growth are composed tasks. */
export async function startComposed(
  stack: TestStack,
  world: WorldCase,
  base: Record<string, unknown>,
  expertsFile: string,
): Promise<void> {
  const { name, environment } = world;
  const price = { inputPerMillion: 1, outputPerMillion: 2 };
  const experts =
    name === 'guess'
      ? (await stack.json<{ sha256: string }>('experts', 'import', expertsFile, '--environment', name)).sha256
      : null;
  const spec = {
    ...base,
    name: campaignOf(world),
    recipe: 'coevolve',
    iterations: 1,
    environment: { name, maxTurns: 6, ...environment, ...(experts ? { experts } : {}) },
    rollouts: { attempts: 2, maxTokens: 8, tasksPerStep: 2, stepsPerIteration: 1 },
    judge: { calibrationTasks: 2, calibrateEvery: 2 },
    synthesis: {
      initialTasks: 3,
      candidatesPerSignal: 6,
      grader: 'judge', // the policy itself solves none
      exploration: { contextsPerSignal: 1, rounds: 1, maxTurns: 12 },
    },
    llm: { models: { explorer: { provider: 'scripted', model: name, price } } },
  };
  await stack.json('start', stack.specFile(spec));
}

/** Waits for the campaign. Returns its admitted composed tasks, all approved by the judge, and a lineage. */
export async function readComposed(stack: TestStack, world: WorldCase) {
  const name = campaignOf(world);
  await stack.waitForEnd(name);
  const { rows } = await stack.pool.query<Composed>(
    `select k.id, k.grader, k.goal, k.created_iteration as iteration,
       (select count(*)::integer from trajectories t where t.campaign_id = k.campaign_id and t.task_id = k.id
          and t.purpose = 'train' and t.outcome = 'scored') as played
     from tasks k join campaigns c on c.id = k.campaign_id
     join judgements j on j.campaign_id = k.campaign_id and j.task_id = k.id and j.kind = 'candidate' and j.completed
     where c.name = $1 and c.status = 'finished' and k.verdict = 'admitted' and k.origin <> 'seed'
     group by k.campaign_id, k.id, k.grader, k.goal, k.created_iteration`,
    [name],
  );
  const { stdout } = await stack.cli('lineage', `${name}/${rows[0]?.id}`);
  const campaign = await createStore(stack.pool).campaigns.getByName(name);
  return { admitted: rows, lineage: stdout, violations: await findViolations(stack.pool, campaign.id) };
}
