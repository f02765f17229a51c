import * as fc from 'fast-check';
import type { IterationKey } from '../../../src/store/database/epoch';
import { runsAll } from '../../support/lane';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { admitted, candidate, newCampaign, rejected, task, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await newCampaign(database.pool);
});
afterAll(() => database.drop());

/** Reference model of the task pool. */
type Model = {
  tasks: Map<string, { content: string; split: 'train' | 'held-out'; state: string; epoch: number }>;
  retired: Set<string>;
  plan: readonly string[] | null;
  epoch: number;
};

/** Key of the iteration in the database with the caller's epoch, and the prefix of its task ids. */
type Real = { key: IterationKey; prefix: string };

type Command = fc.AsyncCommand<Model, Real>;

const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
const contents = ['k1', 'k2', 'k3', 'k4'];

const admittedTwin = (model: Model, id: string) =>
  [...model.tasks].find(
    ([other, { content, state }]) => other !== id && state === 'admitted' && content === model.tasks.get(id)?.content,
  )?.[1];

/** A write of the current run, executed twice like a retry. */
abstract class Write implements Command {
  check = (): boolean => true;
  abstract apply(model: Model): void;
  abstract write(real: Real): Promise<unknown>;
  abstract toString(): string;

  async run(model: Model, real: Real): Promise<void> {
    this.apply(model);
    await this.write(real);
    await this.write(real);
    await expectEqual(model, real);
  }
}

class Seed extends Write {
  constructor(
    readonly id: string,
    readonly content: string,
    readonly split: 'train' | 'held-out',
  ) {
    super();
  }
  apply(model: Model): void {
    const taken = [...model.tasks.values()].some(
      ({ content, state }) => state === 'admitted' && content === this.content,
    );
    if (!taken && !model.tasks.has(this.id))
      model.tasks.set(this.id, { content: this.content, split: this.split, state: 'admitted', epoch: model.epoch });
  }
  write({ key, prefix }: Real): Promise<unknown> {
    const { id, content, split } = this;
    return campaign.store.tasks.seed(key, [task(prefix + id, { contentKey: prefix + content, split })]);
  }
  toString = (): string => `seed ${this.split} ${this.id}=${this.content}`;
}

class Propose extends Write {
  constructor(
    readonly id: string,
    readonly content: string,
    readonly refused: boolean,
  ) {
    super();
  }
  apply(model: Model): void {
    if (model.tasks.has(this.id)) return;
    const state = this.refused ? 'empty-result' : 'candidate';
    model.tasks.set(this.id, { content: this.content, split: 'train', state, epoch: model.epoch });
  }
  write({ key, prefix }: Real): Promise<unknown> {
    const refusal = this.refused ? { refusal: 'empty-result' } : {};
    return campaign.store.tasks.propose(key, [
      candidate(prefix + this.id, { contentKey: prefix + this.content, ...refusal }),
    ]);
  }
  toString = (): string => `propose ${this.id}=${this.content}${this.refused ? ' (refused)' : ''}`;
}

class Decide extends Write {
  constructor(
    readonly id: string,
    readonly reason: string | null,
  ) {
    super();
  }
  apply(model: Model): void {
    const found = model.tasks.get(this.id);
    if (found?.state !== 'candidate') return;
    const twin = admittedTwin(model, this.id);
    found.state = this.reason ?? (twin ? (twin.split === 'held-out' ? 'held-out' : 'duplicate') : 'admitted');
  }
  write({ key, prefix }: Real): Promise<unknown> {
    const id = prefix + this.id;
    return campaign.store.admission.decide(key, [this.reason ? rejected(id, this.reason) : admitted(id)]);
  }
  toString = (): string => `decide ${this.id}: ${this.reason ?? 'admit'}`;
}

class Retire extends Write {
  constructor(readonly id: string) {
    super();
  }
  override check = (model?: Model): boolean => model!.tasks.has(this.id);
  apply(model: Model): void {
    model.retired.add(this.id);
  }
  write({ key, prefix }: Real): Promise<unknown> {
    return campaign.store.admission.retire(key, [{ taskId: prefix + this.id, reason: 'mastered', meanReward: 1 }]);
  }
  toString = (): string => `retire ${this.id}`;
}

class Plan extends Write {
  constructor(readonly chosen: readonly string[]) {
    super();
  }
  override check = (model?: Model): boolean => this.chosen.every((id) => model!.tasks.has(id));
  apply(model: Model): void {
    model.plan ??= this.chosen.length > 0 ? this.chosen : null;
  }
  write({ key, prefix }: Real): Promise<unknown> {
    return campaign.store.tasks.plan(
      key,
      'train',
      this.chosen.map((id) => prefix + id),
    );
  }
  toString = (): string => `plan ${this.chosen.join(' ')}`;
}

/** A write of an earlier run after a later one owns the iteration: it must change nothing. */
class StaleWrite implements Command {
  constructor(readonly write: Write) {}
  check = (): boolean => true;
  async run(model: Model, real: Real): Promise<void> {
    const stale = { ...real, key: { ...real.key, epoch: real.key.epoch - 1 } };
    await expect(this.write.write(stale)).rejects.toMatchObject({ code: 'StaleEpoch' });
    await expectEqual(model, real);
  }
  toString = (): string => `stale ${this.write.toString()}`;
}

async function expectEqual(model: Model, { key, prefix }: Real): Promise<void> {
  const { rows } = await database.pool.query<{ state: Record<string, string>; retired: string[]; plan: string[] }>(
    `select
       (select coalesce(jsonb_object_agg(substr(id, length($3) + 1), coalesce(reason, verdict)), '{}')
        from tasks where campaign_id = $1 and created_iteration = $2) as state,
       array(select substr(task_id, length($3) + 1) from task_retirements
        where campaign_id = $1 and iteration = $2 order by task_id) as retired,
       array(select substr(task_id, length($3) + 1) from planned_tasks
        where campaign_id = $1 and iteration = $2 order by ordinal) as plan`,
    [key.campaignId, key.iteration, prefix],
  );
  expect(rows[0]).toEqual({
    state: Object.fromEntries([...model.tasks].map(([id, { state }]) => [id, state])),
    retired: [...model.retired].sort(),
    plan: model.plan ?? [],
  });
}

const id = fc.constantFrom(...ids);
const content = fc.constantFrom(...contents);
const write: fc.Arbitrary<Write> = fc.oneof(
  fc.tuple(id, content, fc.constantFrom('train' as const, 'held-out' as const)).map((made) => new Seed(...made)),
  fc.tuple(id, content, fc.boolean()).map((made) => new Propose(...made)),
  fc.tuple(id, fc.constantFrom(null, null, 'quota', 'reference-fails')).map((made) => new Decide(...made)),
  id.map((one) => new Retire(one)),
  fc.uniqueArray(id, { maxLength: 3 }).map((chosen) => new Plan(chosen)),
);
const commands = fc.commands([write, write, write, write.map((one) => new StaleWrite(one))], { maxCommands: 9 });

test('the task pool equals its reference model for all sequences of writes, retries and stale writes', async () => {
  let iteration = 1;
  const property = fc.asyncProperty(commands, async (script) => {
    iteration += 1; // a separate iteration for each case
    await campaign.store.iterations.open(campaign.campaignId, iteration);
    await database.pool.query('update iterations set epoch = 2 where campaign_id = $1 and number = $2', [
      campaign.campaignId,
      iteration,
    ]);
    const key = { campaignId: campaign.campaignId, iteration, epoch: 2 };
    const model: Model = { tasks: new Map(), retired: new Set(), plan: null, epoch: 2 };
    await fc.asyncModelRun(() => ({ model, real: { key, prefix: `${iteration}:` } }), script);
  });
  await fc.assert(property, { numRuns: runsAll ? 1_000 : 250 });
}, 300_000);
