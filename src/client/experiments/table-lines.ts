import { z } from 'zod';
import { effortMeasures } from '../../domain/experiment/experiment';
import { tableFormat } from '../../report/experiment/export-files';

const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/);
const feature = z.string().max(200);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const seed = z.int().min(1);
const share = z.number().min(0).max(1);
const measure = z.enum(effortMeasures);
const contrast = z.strictObject({ name: z.string(), plus: name, minus: name, metric: z.string().optional() });
const record = z.record(z.string(), z.unknown());
const amount = z.number().min(0);
const time = z.iso.datetime({ precision: 3 });

const arm = z.strictObject({
  name,
  replicaOf: name.nullable(),
  matches: name.nullable(),
  spec: record,
  differences: z.array(z.strictObject({ key: z.string(), base: z.unknown(), arm: z.unknown() })),
});

const experiment = z.strictObject({
  name,
  seed: z.int().min(0),
  question: z.string(),
  arms: z.array(arm).min(1),
  looks: z.array(seed).min(1).max(2),
  concurrency: z.int().min(1),
  match: z.strictObject({
    equal: z.array(measure),
    within: z.partialRecord(measure, amount),
    report: z.array(measure),
  }),
  analysis: z.strictObject({
    metric: z.string(),
    primary: contrast,
    secondary: z.array(contrast),
    margin: share,
    alpha: share,
    ordering: z.array(name).nullable(),
    breakdown: z.array(feature),
    companion: z.literal('trimmed').optional(),
  }),
  stopping: z.strictObject({
    futility: share.nullable(),
    decided: z.literal(true).optional(),
    usd: amount.nullable(),
    hours: amount.nullable(),
  }),
});

/** First line of an exported table. */
export const experimentLine = z.strictObject({
  kind: z.literal('experiment'),
  format: z.literal(tableFormat),
  experiment,
  hash,
  version: z.int().min(1),
  frozenAt: time.nullable(),
  firstFrozenAt: time.optional(),
  profile: z.string().nullable(),
  manifest: z.looseObject({ before: z.object({ freeze: hash.nullable(), cells: z.array(hash) }).optional() }),
  amendments: z.array(z.strictObject({ version: z.int().min(1), frozenAt: time, differences: z.array(z.unknown()) })),
  looks: z
    .array(z.strictObject({ look: seed, exploratory: z.boolean(), shown: z.boolean(), inputHash: hash, at: time }))
    .optional(),
  sharedSeed: z.array(name).optional(),
});

const text = z.string().max(200).nullable();
const playedOn = z.looseObject({
  machine: z.string().max(64),
  processor: text,
  cores: z.int().min(0),
  commit: text,
  dirty: z.boolean().nullable(),
});

const made = { iteration: z.int().min(0), role: z.string() };

const counts = z.array(
  z.object({ iteration: z.int().min(0), feature, category: z.string().max(1000), tasks: z.int().min(0) }),
);

/** The parts that are read; a table made by hand may lack them. */
const manifest = z.looseObject({
  policies: z.array(z.object({ ...made, id: z.string() })).optional(),
  datasets: z.array(z.looseObject({ ...made, sha256: hash.nullable(), seed: z.number() })).optional(),
  pool: counts.optional(),
  parents: counts.optional(),
  admitted: z.array(z.looseObject({ iteration: z.int().min(0), tasks: z.int().min(0) })).optional(),
  startedAt: time.optional(),
  playedOn: playedOn.optional(),
  exclusions: z.looseObject({ attempts: z.int().min(0), excluded: z.int().min(0) }).optional(),
  spec: z.looseObject({ training: z.looseObject({}).optional() }).optional(),
});

const effort = z.partialRecord(measure, z.strictObject({ nominal: amount, paid: amount }));

/** Line of a cell. */
export const cellLine = z
  .strictObject({
    kind: z.literal('cell'),
    arm: name,
    seed,
    status: z.enum(['finished', 'missing']),
    reason: z.string().nullable(),
    exploratory: z.boolean(),
    imported: z.boolean(),
    campaign: z.string(),
    version: z.int().min(1),
    testHash: z.string().nullable(),
    leakedTasks: z.int().min(0),
    contentHash: hash.nullable(),
    manifest: manifest.nullable(),
    checkpoints: z.array(z.strictObject({ checkpoint: z.int().min(0), effort })),
  })
  .refine((cell) => (cell.status === 'finished') === (cell.contentHash !== null), {
    path: ['contentHash'],
    message: 'expected a hash for a finished cell and null for a missing one',
  });

/** Line of a score. */
export const scoreLine = z.strictObject({
  kind: z.literal('score'),
  arm: name,
  seed,
  checkpoint: z.int().min(0),
  task: z.string().max(200),
  features: z.record(feature, z.union([z.string().max(1000), z.number()])),
  reward: share,
  success: share,
  attempts: z.int().min(1).optional(),
});
