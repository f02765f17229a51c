import { createRandom } from '../../src/domain/random/seeded-random';
import { at, type FixtureSettings, type Row } from './fixture-rows';
import { createIteration } from './create-iteration';

/** Rows of all tables, one block per iteration, in an order that the foreign keys allow. */
export type CampaignRows = {
  campaign: Row;
  blocks: { iteration: number; tables: Record<string, Row[]> }[];
};

export const defaultFixture: FixtureSettings = {
  iterations: 3,
  trainTasks: 80,
  heldOutTasks: 60,
  attempts: 2,
  agents: ['target', 'failure'],
};

/** Generates the rows of a campaign from a seed: graded rewards, faults, ties, promoted candidates and others. */
export function campaignRows(overrides: Partial<FixtureSettings> = {}): CampaignRows {
  const settings = { ...defaultFixture, ...overrides };
  const random = createRandom(11);
  const world = { settings, random, active: new Map<string, string>(), pool: [] as Row[], heldOut: [] as Row[] };
  const blocks = Array.from({ length: settings.iterations + 1 }, (_, iteration) => ({
    iteration,
    tables: createIteration(world, iteration),
  }));
  const finishedAt = at(settings.iterations, 290);
  return { campaign: campaignRow(settings, finishedAt), blocks };
}

export const rowsOf = ({ blocks }: CampaignRows, table: string): Row[] =>
  blocks.flatMap(({ tables }) => tables[table] ?? []);

function campaignRow(settings: FixtureSettings, finishedAt: string): Row {
  return {
    name: 'harbour-light',
    recipe: 'combined',
    environment: 'intercode-sql',
    spec: {
      name: 'harbour-light',
      seed: 7,
      recipe: 'combined',
      environment: { name: 'intercode-sql', trainTasks: settings.trainTasks, heldOutTasks: settings.heldOutTasks },
      rollouts: { attempts: settings.attempts, temperature: 0.9 },
      pairs: { hardNegativeReward: 0.6 },
      evaluation: { temperature: 0, confidence: 0.95 },
      note: 'a value with <b>markup</b> & "quotes"',
    },
    spec_hash: 'c0ffee'.padEnd(64, '0'),
    seed: 7,
    status: 'finished',
    created_at: at(0, 0),
    finished_at: finishedAt,
  };
}
