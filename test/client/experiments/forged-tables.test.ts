import { analysisJson, analysisText } from '../../../src/cli/experiment/analysis-text';
import { analyzeRecord } from '../../../src/client/experiments/analyze-table';
import { readConfig } from '../../../src/config';
import { canonicalJson } from '../../../src/domain/canonical-json';
import type { Arm } from '../../../src/domain/experiment/experiment';
import type { PlayedOn } from '../../../src/domain/experiment/played-on';
import type { ExperimentRecord, RecordedCell, TakenLook } from '../../../src/domain/experiment/record';
import { sha256 } from '../../../src/files/sha256';
import {
  exportFiles,
  marksOf,
  placeBlocks,
  renderExperiment,
  validityChecks,
  verdictSentence,
} from '../../../src/report/experiment';
import { simulateRecord } from '../../support/long-table';

const config = readConfig({ PATH: process.env['PATH'] });
const base = simulateRecord({ effects: { none: 0, signals: 0.15, random: 0 } });

/** The same without an effect. */
const idle = simulateRecord({ effects: { none: 0, signals: 0, random: 0 } });

const withCells = (record: ExperimentRecord, change: (cell: RecordedCell) => Partial<RecordedCell>) => ({
  ...record,
  cells: record.cells.map((cell) => ({ ...cell, ...change(cell) })),
});

function withArm(record: ExperimentRecord, name: string, change: Partial<Arm>): ExperimentRecord {
  const arms = record.experiment.arms.map((arm) => (arm.name === name ? { ...arm, ...change } : arm));
  const experiment = { ...record.experiment, arms };
  return { ...record, experiment, hash: sha256(canonicalJson(experiment)) };
}

const lookAt = (look: number, at: string): TakenLook => ({
  look,
  exploratory: false,
  shown: true,
  inputHash: 'a'.repeat(64),
  at,
});

/** Replaces seed 4 by a copy of seed 1, in all arms. */
const copied: ExperimentRecord = {
  ...base,
  cells: base.cells.map((cell) => (cell.seed === 4 ? { ...cell, testHash: cellOf(cell.arm, 1).testHash } : cell)),
  scores: [
    ...base.scores.filter(({ seed }) => seed !== 4),
    ...base.scores.filter(({ seed }) => seed === 1).map((row) => ({ ...row, seed: 4 })),
  ],
};

function cellOf(arm: string, seed: number): RecordedCell {
  return base.cells.find((cell) => cell.arm === arm && cell.seed === seed)!;
}

const reportOf = (record: ExperimentRecord) => analyzeRecord(config, record, record.experiment.looks.at(-1)!);

const invalid: [string, ExperimentRecord, string][] = [
  [
    'a copied cell',
    withCells(copied, ({ arm, seed }) => (seed === 4 ? { contentHash: cellOf(arm, 1).contentHash } : {})),
    'distinct cells',
  ],
  [
    'tasks that are missing in both arms',
    {
      ...base,
      scores: base.scores.filter(({ arm, seed, task }) => {
        const lost = base.scores.find(
          (row) => row.arm === 'signals' && row.seed === seed && row.task === task && row.checkpoint === 2,
        );
        return arm === 'random' || lost!.success === 1 || seed > 2;
      }),
    },
    'whole tests',
  ],
  ['a cell without the hash of its tests', withCells(base, () => ({ testHash: null })), 'whole tests'],
];

test.each(invalid)('%s makes the contrasts of its arms invalid', async (_, record, rule) => {
  const report = await reportOf(record);
  const { analysis } = report;
  expect(analysis.contrasts[0]!.verdict).toBe('invalid');
  const broken = validityChecks(report).filter(({ holds }) => !holds);
  expect(broken.map(({ name }) => name)).toContain(rule);
  expect(broken.map(({ effect }) => effect)).toContain('invalid');
});

const at = (hours: number): string => new Date(Date.parse(base.frozenAt!) + 3_600_000 * hours).toISOString();
const isSignals = ({ arm }: RecordedCell): boolean => arm === 'signals';

const placeOf = (isNew: boolean): PlayedOn => ({
  machine: isNew ? 'b' : 'a',
  processor: isNew ? 'new' : 'old',
  cores: 2,
  commit: 'c0ffee',
  dirty: false,
});

const marked: [string, ExperimentRecord, string, RegExp][] = [
  [
    'cells that began before the freeze',
    withCells(base, (cell) => (isSignals(cell) ? { manifest: { ...cell.manifest, startedAt: at(-1) } } : {})),
    'exploratory',
    /8 cells of signals began before the freeze/,
  ],
  [
    'cells without a time of their start',
    withCells(base, (cell) => (isSignals(cell) ? { manifest: null } : {})),
    'exploratory',
    /8 cells of signals has no time of its start/,
  ],
  [
    'cells that were in the database when the file was frozen',
    { ...base, manifest: { before: { freeze: null, cells: [cellOf('signals', 2).contentHash!] } } },
    'exploratory',
    /1 cell of signals was there when the file was frozen/,
  ],
  ['a file that was never frozen', { ...base, frozenAt: null }, 'exploratory', /never frozen/],
  [
    'an amendment after a look',
    {
      ...base,
      version: 2,
      firstFrozenAt: base.frozenAt!,
      frozenAt: at(5),
      amendments: [{ version: 2, frozenAt: at(5), differences: [] }],
      looks: [lookAt(8, at(3))],
    },
    'amended after a look',
    /version 2 was frozen after a look at 8 seeds/,
  ],
  [
    'a look that no version in force declares',
    { ...base, looks: [lookAt(3, at(2)), lookAt(8, at(4))] },
    'undeclared looks',
    /looks at 3 seeds were taken too; every test has the level 0\.0264/,
  ],
  [
    'arms that solve next to nothing',
    {
      ...base,
      scores: idle.scores.map((row) => ({ ...row, success: row.success / 50, reward: row.reward / 50 })),
    },
    'could not differ',
    /both arms score \d\.\d and \d\.\d, the margin is 5\.0 points/,
  ],
  [
    'a seed that collapsed',
    {
      ...base,
      scores: base.scores.map((row) =>
        row.arm === 'signals' && row.seed === 4 && row.checkpoint === 2 ? { ...row, success: 0, reward: 0 } : row,
      ),
    },
    'collapsed seed',
    /1 of 8 seeds of signals collapsed \(4\), and move the mean/,
  ],
  [
    'arms that train on other data',
    withCells(base, (cell) => ({
      checkpoints: cell.checkpoints.map(({ checkpoint, effort }) => {
        const rows = checkpoint * (isSignals(cell) ? 1000 : 600);
        return { checkpoint, effort: { ...effort, likelihoodRows: { nominal: rows, paid: rows } } };
      }),
    })),
    'other data',
    /signals - none: rows with likelihood 2,000 against 1,200/,
  ],
  [
    'a root seed that another experiment has',
    { ...base, sharedSeed: ['older'] },
    'shared root seed',
    /older has the root seed 20261201 too/,
  ],
  [
    'a replica that comes out better',
    withArm(base, 'signals', { replicaOf: 'none' }),
    'a replica differs',
    /signals repeats none and differs by \+\d/,
  ],
  [
    'a match that was missed',
    withCells(withArm(base, 'signals', { matches: 'none' }), (cell) => ({
      manifest: { ...cell.manifest, admitted: [{ iteration: 1, tasks: isSignals(cell) ? 167 : 190 }] },
    })),
    'match missed',
    /167 of 190 at seed 1, /,
  ],
  [
    'arms of one seed on other processors',
    withCells(base, (cell) => ({
      manifest: { ...cell.manifest, playedOn: placeOf(isSignals(cell) && cell.seed === 3) },
    })),
    'unequal places',
    /signals - none were played at different places: seed 3 \(new, c0ffee against old, c0ffee\)$/,
  ],
  [
    'arms of one seed by other code',
    withCells(base, (cell) => ({
      manifest: { ...cell.manifest, playedOn: { ...placeOf(false), dirty: isSignals(cell) && cell.seed === 2 } },
    })),
    'unequal places',
    /seed 2 \(old, c0ffee and changes against old, c0ffee\)/,
  ],
  [
    'the scores of another seed under a hash of its own',
    copied,
    'equal scores',
    /seed 1 and 4 of signals score all 100 tasks alike/,
  ],
];

test.each(marked)('%s mark the verdict on every page, and the rule in the box', async (_, record, mark, finding) => {
  const report = await reportOf(record);
  const primary = report.analysis.contrasts[0]!;
  expect(report.analysis.contrasts.map(({ verdict }) => verdict)).not.toContain('invalid');
  const own = marksOf(report, primary).find((each) => each.mark === mark)!;
  expect(own.findings.join('; ')).toMatch(finding);
  expect(verdictSentence(report.record, report.analysis, primary)).toContain(`${mark}: `);
  const pages = [
    analysisText(report),
    renderExperiment(report),
    ...(['csv', 'md', 'latex'] as const).map(
      (format) => exportFiles(format, report.record, report).at(-1)!.content as string,
    ),
  ];
  for (const page of pages) expect(page).toContain(mark);
  const broken = validityChecks(report).filter(({ holds }) => !holds);
  expect([...new Set(broken.map(({ effect }) => effect))]).toEqual(['marked']);
});

test('one collapse hides 25 points from the mean, and not from a companion that the file declared', async () => {
  const collapsed = simulateRecord({ effects: { none: 0, signals: 0.25 } });
  const scores = collapsed.scores.map((row) =>
    row.arm === 'signals' && row.seed === 3 && row.checkpoint === 2 ? { ...row, success: 0, reward: 0 } : row,
  );
  const analysis = { ...collapsed.experiment.analysis, companion: 'trimmed' as const };
  const experiment = { ...collapsed.experiment, analysis };
  const declared = { ...collapsed, experiment, hash: sha256(canonicalJson(experiment)), scores };
  const report = await reportOf(declared);
  const [primary] = report.analysis.contrasts;
  expect([primary!.verdict, primary!.companion]).toEqual(['inconclusive', 'better']);
  expect(analysisText(report)).toMatch(/collapsed seed/);
  expect(analysisText(report)).toMatch(/declared companion: better, trimmed mean \+2\d/);
  const silent = await reportOf({ ...collapsed, scores });
  expect(silent.analysis.contrasts[0]!.companion).toBeNull();
  expect(silent.inputHash).not.toBe(report.inputHash);
});

/** As `base`, with a secondary contrast of shares; `signals` admits two of three tasks in the region. */
function withShares(inRegion: (cell: RecordedCell) => number | null): ExperimentRecord {
  const contrast = { name: 'shares', plus: 'signals', minus: 'random', metric: 'admitted@pattern=join|having' };
  const experiment = {
    ...base.experiment,
    analysis: { ...base.experiment.analysis, secondary: [...base.experiment.analysis.secondary, contrast] },
  };
  const made = { iteration: 1, feature: 'pattern' };
  const record = withCells(base, (cell) => {
    const tasks = inRegion(cell);
    const start = { iteration: 0, feature: 'pattern', category: 'join', tasks: 500 };
    const counts = { join: tasks ?? 0, having: 1, order: 30 };
    const rows = [start, ...Object.entries(counts).map(([category, n]) => ({ ...made, category, tasks: n }))];
    return { manifest: { ...cell.manifest, ...(tasks === null ? {} : { pool: rows }) } };
  });
  return { ...record, experiment, hash: sha256(canonicalJson(experiment)) };
}

test('a contrast of a share compares the tasks that the iterations admitted', async () => {
  const report = await reportOf(withShares((cell) => (isSignals(cell) ? 60 + cell.seed : 5)));
  const { verdict, differences, adjustedP } = report.analysis.contrasts.at(-1)!;
  expect(verdict).toBe('better');
  expect(differences[0]!.value).toBeCloseTo(62 / 92 - 6 / 36, 12);
  expect(adjustedP).toBeLessThan(1e-6);
  for (const rows of [report.analysis.breakdown, report.analysis.wonAndLost])
    expect(rows.map(({ contrast }) => contrast)).not.toContain('shares');
});

test('a share that a cell did not count makes its contrast invalid, and no other', async () => {
  const report = await reportOf(withShares((cell) => (cell.arm === 'random' && cell.seed === 3 ? null : 5)));
  const [primary, , shares] = report.analysis.contrasts;
  expect(primary!.verdict).toBe('better');
  expect(shares!.reasons).toEqual([
    'cell random-s3: it has no tasks for admitted@pattern=join|having, or did not count them',
  ]);
});

test('equal shares near 0 are equivalent whatever the methods do', async () => {
  const report = await reportOf(withShares(() => 0));
  const shares = report.analysis.contrasts.at(-1)!;
  expect(shares.verdict).toBe('equivalent');
  expect(marksOf(report, shares).map(({ mark }) => mark)).toContain('could not differ');
});

test('whole seeds on another machine are blocks with their mean differences, and no mark', async () => {
  const cells = ({ manifest, seed }: RecordedCell) => ({ manifest: { ...manifest, playedOn: placeOf(seed > 5) } });
  const report = await reportOf(withCells(base, cells));
  const [primary] = report.analysis.contrasts;
  const meanOf = (seeds: number[]): number =>
    seeds.reduce((sum, seed) => sum + primary!.differences.find((own) => own.seed === seed)!.value, 0) / seeds.length;
  const blocks = placeBlocks(report).filter(({ contrast }) => contrast === 'signals - none');
  expect(blocks).toMatchObject([
    { machine: 'a', processor: 'old', code: 'c0ffee', seeds: [1, 2, 3, 4, 5] },
    { machine: 'b', processor: 'new', code: 'c0ffee', seeds: [6, 7, 8] },
  ]);
  expect(blocks.map(({ difference }) => difference)).toEqual([
    expect.closeTo(meanOf([1, 2, 3, 4, 5]), 12),
    expect.closeTo(meanOf([6, 7, 8]), 12),
  ]);
  expect(marksOf(report, primary!)).toEqual([]);
  const markdown = exportFiles('md', report.record, report)[0]!.content as string;
  for (const page of [analysisText(report), renderExperiment(report), markdown]) expect(page).toContain('6, 7, 8');
  expect(analysisJson(report)['blocks']).toEqual(placeBlocks(report));
});

test('a table of before, which does not record places, has no block and no rule for them', async () => {
  const report = await reportOf(base);
  expect(placeBlocks(report)).toEqual([]);
  expect(validityChecks(report).map(({ name }) => name)).not.toContain('one place per seed');
});

test('an honest table has neither a mark nor a broken rule', async () => {
  const report = await reportOf({ ...base, looks: [lookAt(8, at(9))], sharedSeed: [] });
  expect(validityChecks(report).filter(({ holds }) => !holds)).toEqual([]);
  expect(report.analysis.contrasts.flatMap((contrast) => marksOf(report, contrast))).toEqual([]);
  expect(report.analysis.level).toBe(0.05);
});
