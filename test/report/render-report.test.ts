import { createHash } from 'node:crypto';
import { renderReport } from '../../src/report/campaign/campaign-report';
import type { CampaignReport } from '../../src/report/campaign/campaign-report';
import { campaignRows, rowsOf } from './campaign-rows';
import { expectedReport, tasksOf, trajectoriesOf } from './expected-report';
import type { Row } from './fixture-rows';
import { chartLabels, tableOf, textOf } from './read-page';

const rows = campaignRows();
const report = expectedReport(rows);
const page = renderReport(report);

const int = (n: number): string => n.toLocaleString('en-US');
const rate = (n: number): string => n.toFixed(3);
const signed = (n: number): string => (n < 0 ? `−${(-n).toFixed(3)}` : `+${n.toFixed(3)}`);
const num = (value: unknown): number => value as number;
const total = (of: Row[], column: string): number => of.reduce((sum, row) => sum + num(row[column]), 0);
const hash = (id: unknown): string => (id as string).slice(0, 12);

test('the header shows success before and after with intervals and the paired test', () => {
  const [first, ...later] = rowsOf(rows, 'evaluations');
  const promoted = rowsOf(rows, 'promotions').filter(({ decision }) => decision === 'promote');
  const last = later.find((e) => e['policy_id'] === promoted.at(-1)!['candidate_id'])!;
  const header = textOf(page.slice(page.indexOf('<header'), page.indexOf('</header>')));
  const rewards = (policy: unknown) =>
    new Map(
      rowsOf(rows, 'evaluation_trajectories')
        .filter((t) => t['policy_id'] === policy && t['reward'] !== null)
        .map((t) => [t['task_id'], num(t['reward'])]),
    );
  const [before, after] = [rewards(first!['policy_id']), rewards(last['policy_id'])];
  const both = [...before].filter(([task]) => after.has(task)).map(([task, b]) => [b, after.get(task)!] as const);
  const wins = both.filter(([b, a]) => b < 1 && a === 1).length;
  const losses = both.filter(([b, a]) => b === 1 && a < 1).length;
  const difference = both.reduce((sum, [b, a]) => sum + a - b, 0) / both.length;

  for (const e of [first!, last]) {
    expect(header).toContain(
      `${int(num(e['successes']))} of ${int(num(e['tasks']))} tasks, 95 % interval ${rate(num(e['success_low']))} to ${rate(num(e['success_high']))}`,
    );
    expect(header).toContain(rate(num(e['successes']) / num(e['tasks'])));
  }
  expect(header).toContain(
    `Of ${both.length} tasks of dev that both attempted, ${wins} are solved only by the later policy and ${losses} only by the start`,
  );
  expect(header).toContain(`mean reward changed by ${signed(difference)}`);
});

test('the evaluation tables show the stored evaluations and decisions', () => {
  const decision = (e: Row) =>
    rowsOf(rows, 'promotions').find((p) => p['candidate_id'] === e['policy_id'])!['decision'];
  const evaluations = rowsOf(rows, 'evaluations');

  expect(tableOf(page, 'Evaluations on dev')).toEqual(
    evaluations.map((e) => [
      num(e['iteration']) === 0 ? '0 (supervised start)' : String(num(e['iteration'])),
      hash(e['policy_id']),
      'target',
      decision(e) === 'promote' ? 'promoted' : 'not promoted',
      int(num(e['successes'])),
      int(num(e['tasks'])),
      rate(num(e['successes']) / num(e['tasks'])),
      num(e['tasks']) === 60 ? '0 of 60' : '1 of 60 (1.7 %)',
      `${rate(num(e['success_low']))} to ${rate(num(e['success_high']))}`,
      rate(num(e['mean_reward'])),
    ]),
  );
  expect(tableOf(page, 'Candidates against their incumbents, task by task')).toEqual(
    evaluations
      .filter((e) => e['incumbent_id'] !== null)
      .map((e) => [
        String(num(e['iteration'])),
        hash(e['policy_id']),
        hash(e['incumbent_id']),
        int(num(e['wins'])),
        int(num(e['losses'])),
        num(e['mcnemar_p']) < 0.001 ? '< 0.001' : rate(num(e['mcnemar_p'])),
        signed(num(e['mean_difference'])),
        `${signed(num(e['difference_low']))} to ${signed(num(e['difference_high']))}`,
      ]),
  );
});

test('the failures section counts failures by iteration and agent, in its table and its bars', () => {
  const scored = trajectoriesOf(rows).filter((t) => t['purpose'] === 'train' && t['outcome'] === 'scored');
  const of = (iteration: number, role: string) =>
    scored.filter((t) => t['iteration'] === iteration && t['role'] === role);
  const failed = (group: Row[]) => group.filter((t) => num(t['reward']) < 1);
  const share = (part: number, whole: number) => rate(part / whole);

  expect(tableOf(page, 'Training attempts by iteration and agent')).toEqual(
    [1, 2, 3].flatMap((iteration) =>
      ['target', 'failure'].map((role) => {
        const [group, failures] = [of(iteration, role), failed(of(iteration, role))];
        const hard = failures.filter((t) => num(t['reward']) >= 0.6).length;
        const solved = group.length - failures.length;
        return [
          String(iteration),
          role === 'target' ? 'target' : 'failure agent',
          int(group.length),
          int(new Set(group.map((t) => t['task_id'])).size),
          int(solved),
          share(solved, group.length),
          int(failures.length),
          share(total(group, 'reward'), group.length),
          share(total(failures, 'reward'), failures.length),
          int(hard),
          share(hard, failures.length),
          '–', // the fixture has no groups of attempts
        ];
      }),
    ),
  );
  const counts = [1, 2, 3].map((iteration) => int(failed(of(iteration, 'failure')).length));
  expect(chartLabels(page, 'Failures of the failure agent').slice(-3)).toEqual(counts);
  const failures = failed(of(2, 'target'));
  const bins = Array.from(
    { length: 10 },
    (_, bin) => failures.filter((t) => Math.floor(num(t['reward']) * 10 + 1e-9) === bin).length,
  );
  expect(chartLabels(page, `target, iteration 2 (n = ${int(failures.length)})`).slice(-10)).toEqual(bins.map(int));
});

test('the page counts signals, candidates and pairs by kind', () => {
  const signals = rowsOf(rows, 'feedback_signals');
  const kinds = ['forgetting', 'boundary', 'rare'];
  expect(tableOf(page, 'Feedback signals by kind')).toEqual(
    [1, 2, 3].map((iteration) => [
      String(iteration),
      ...kinds.flatMap((kind) => {
        const found = signals.filter((s) => s['iteration'] === iteration && s['kind'] === kind);
        return [int(found.length), int(new Set(found.map((s) => s['task_id'])).size)];
      }),
    ]),
  );

  expect(tableOf(page, 'Flagged tasks and those of an unchanged policy').map((cells) => cells.slice(-1))).toEqual(
    Array.from({ length: 9 }, () => ['75 %']),
  );

  const candidates = tasksOf(rows).filter(({ origin }) => origin === 'synthesized');
  const admitted = candidates.filter(({ verdict }) => verdict === 'admitted');
  const rejected = tableOf(page, 'Candidates by verdict and signal');
  expect(rejected.at(-2)!.at(-1)).toBe(int(candidates.length));
  expect(rejected.at(-1)!.at(-1)).toBe(rate(admitted.length / candidates.length));
  for (const reason of new Set(candidates.flatMap((task) => (task['reason'] ? [task['reason'] as string] : []))))
    expect(rejected.find(([name]) => name === `rejected: ${reason}`)!.at(-1)).toBe(
      int(candidates.filter((task) => task['reason'] === reason).length),
    );

  const pairs = tableOf(page, 'Preference pairs by iteration, agent and kind');
  for (const [iteration, trains, kind, count, , hard, share, chosen, lost] of pairs) {
    const role = trains === 'target' ? 'target' : 'failure';
    const own = rowsOf(rows, 'preference_pairs').filter(
      (p) => String(num(p['iteration'])) === iteration && p['for_role'] === role && p['kind'] === kind,
    );
    const nearly = own.filter((p) => p['hard_negative']).length;
    expect([count, hard, share]).toEqual([int(own.length), int(nearly), rate(nearly / own.length)]);
    expect([chosen, lost]).toEqual(
      ['chosen_reward', 'rejected_reward'].map((side) => rate(total(own, side) / own.length)),
    );
  }
  expect(pairs).toHaveLength(12);
  const dropped = tableOf(page, 'Candidates that made no pair, by reason');
  const all = dropped.reduce((sum, row) => sum + Number(row.at(-1)!.replaceAll(',', '')), 0);
  expect(all).toBe(total(rowsOf(rows, 'dropped_pairs'), 'count'));
  const inOtherKind = rowsOf(rows, 'dropped_pairs').filter(({ reason }) => reason === 'other-kind');
  expect(textOf(page)).toContain(`${total(inOtherKind, 'count')} of them because another kind has the same pair.`);
});

test('the page counts attempts, faults, training runs and rows', () => {
  for (const [iteration, purpose, attempts, prompt, completion] of tableOf(page, 'Attempts by iteration and purpose')) {
    const own = trajectoriesOf(rows).filter(
      (t) => String(num(t['iteration'])) === iteration && t['purpose'] === purpose,
    );
    expect([attempts, prompt, completion]).toEqual(
      [own.length, total(own, 'prompt_tokens'), total(own, 'completion_tokens')].map(int),
    );
  }
  const faults = tableOf(page, 'Faults of attempts; a fault is never counted as a reward of 0');
  const final = trajectoriesOf(rows).filter((t) => t['outcome'] !== 'scored').length;
  expect(faults.reduce((sum, row) => sum + Number(row.at(-1)), 0)).toBe(final + rowsOf(rows, 'attempt_faults').length);
  const resumes = tableOf(page, 'Interrupted attempts; an attempt whose replay differed started again');
  expect(resumes).toEqual(report.resumes.map((group) => Object.values(group).map(int)));
  expect(tableOf(page, 'Jobs in the order of submission').map((row) => row.slice(-9))).toEqual(
    report.trainingRuns.map((run) => [
      ...[run.datasetRows, run.tokens!, run.rowsCut!, run.tokensDropped!, run.actionsDropped!].map(int),
      `${(100 * run.actionsDropped!) / 8} %`,
      `${Math.round(run.seconds!)} s`,
      ...(run.iteration === 0 ? ['0.0 s', '$0.00'] : ['1 min 51 s', '$0.1105']),
    ]),
  );
  expect(Object.fromEntries(tableOf(page, 'Rows of this campaign in the read model'))).toMatchObject({
    attempts: int(trajectoriesOf(rows).length),
    tasks: int(tasksOf(rows).length),
    pairs: int(rowsOf(rows, 'preference_pairs').length),
  });
});

test('training curves are drawn by iteration, without charts for measures that a method does not report', () => {
  const curves = page.slice(
    page.indexOf('<section id="curves"'),
    page.indexOf('</section>', page.indexOf('<section id="curves"')),
  );
  const titles = [...curves.matchAll(/<figcaption>([^<]*)/g)].map(([, title]) => title);
  const ofSft = ['Loss, nats', 'Gradient norm', 'Learning rate', 'Tokens per second'];
  expect(titles.slice(0, 4)).toEqual(ofSft);
  expect(titles).toHaveLength(4 + 6 * (rows.blocks.length - 1));
  expect(textOf(curves)).toContain('target from 0.3 at update 10 to 0.1 at update 30');
  expect(textOf(curves)).toContain('target from 1,010 at update 10 to 1,030 at update 30');
});

test('settings that differ between the jobs of a method are shown, and no others', () => {
  expect(textOf(page)).not.toContain('settings by iteration');
  const settings = (iteration: number) => ({ epochs: 3, learning_rate: iteration > 1 ? 5e-7 : 1e-6 });
  const trainingRuns = report.trainingRuns.map((run) => ({ ...run, settings: settings(run.iteration) }));
  const rowsOfJobs = tableOf(renderReport({ ...report, trainingRuns }), 'Jobs in the order of submission');
  const trained = rowsOfJobs.filter(([, method]) => method !== 'sft' && method !== 'init').map((row) => row[5]);
  expect(new Set(trained)).toEqual(new Set(['learning_rate 0.000001', 'learning_rate 5e-7']));
});

test('the cost of GPUs is shown only if a job used GPUs', () => {
  const jobs = report.trainingRuns.filter(({ gpuSeconds }) => gpuSeconds > 0).length;
  const usd = (jobs * 0.1105).toFixed(jobs * 0.1105 < 1 ? 4 : 2);
  expect(textOf(page)).toContain(`of GPUs ($${usd})`);
  const without = { ...report, trainingRuns: report.trainingRuns.map((run) => ({ ...run, gpuSeconds: 0, usd: 0 })) };
  expect(textOf(renderReport(without))).not.toContain('of GPUs');
});

test('the content security policy allows the stylesheet of the page and nothing else', () => {
  const [, given = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)!;
  const policy = new Map(
    given
      .replaceAll('&#39;', "'")
      .split('; ')
      .map((directive) => [directive.slice(0, directive.indexOf(' ')), directive.slice(directive.indexOf(' ') + 1)]),
  );
  const styles = [...page.matchAll(/<style>([^]*?)<\/style>/g)].map(([, text]) => text!);
  expect(styles).toHaveLength(1);
  expect(Object.fromEntries(policy)).toEqual({
    'default-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'style-src-elem': `'sha256-${createHash('sha256').update(styles[0]!).digest('base64')}'`,
    'style-src-attr': "'unsafe-inline'",
  });
  expect(page.indexOf('Content-Security-Policy')).toBeLessThan(page.indexOf('<style'));
  expect(page.indexOf('Content-Security-Policy')).toBeLessThan(page.indexOf('<title'));
});

test('text of tasks, policies and users is escaped', () => {
  const hostile = '<script>alert("1")</script><img src=x onerror=alert(1)> & \'more\'';
  const hostileReport = JSON.parse(JSON.stringify(report), (_, value: unknown) =>
    typeof value === 'string' && !/^\d{4}-\d\d-\d\dT/.test(value) && !keywords.has(value)
      ? `${value}${hostile}`
      : value,
  ) as CampaignReport;

  const rendered = renderReport(withDates(hostileReport));

  expect(rendered).not.toMatch(/<script|<img/);
  expect(textOf(rendered)).toContain(hostile);
});

test('the page loads nothing from other sources', () => {
  expect(/https?:|src=|<link|<script|@import|url\(/.exec(page)).toBeNull();
  expect(page.length).toBeLessThan(300_000);
});

test('every chart has a name and a text alternative', () => {
  const charts = page.match(/<svg/g)!;

  expect(charts.length).toBeGreaterThan(20);
  expect(
    page.match(/<svg[^>]* role="img" aria-label="[^"]+"[^>]*><title>[^<]+<\/title><desc>[^<]+<\/desc>/g),
  ).toHaveLength(charts.length);
});

test('rendering a report twice gives the same page', () => {
  expect(renderReport(report) === page).toBe(true);
});

test('the report of a campaign with only its supervised start names missing data and its reason', () => {
  const start = renderReport(expectedReport(campaignRows({ iterations: 0, agents: ['target'] })));

  expect(textOf(start)).toContain(
    'Only the supervised start has been evaluated: there is no later policy to compare it with.',
  );
  expect(textOf(start)).toContain('No preference pair was built: no iteration after the supervised start has begun.');
  expect(start).not.toMatch(/NaN|undefined|Infinity/);
});

test('the report of a recipe without pairs states that the recipe has none', () => {
  const sft = {
    ...report,
    campaign: { ...report.campaign, recipe: 'sft' },
    pairs: [],
    droppedPairs: [],
    pairExample: null,
  };

  expect(textOf(renderReport(sft))).toContain('No preference pair was built: recipe sft');
});

test.each([
  [[], 'repeatable to the last bit'],
  [
    ['compute: a GPU sums in any order', 'policy server: it batches'],
    'repeatable no: compute: a GPU sums in any order; policy',
  ],
])(
  'the header shows whether another run gives the same rows, and otherwise every reason: %j',
  (nondeterminism, text) => {
    const header = textOf(renderReport({ ...report, campaign: { ...report.campaign, nondeterminism } }));
    expect(header).toContain(text);
  },
);

test('a significant gain is said to be that of two checkpoints, and not of the methods', () => {
  const { outcome } = report;
  const paired = { ...outcome.paired!, wins: 20, losses: 4, mcnemarP: 0.002 };
  const header = textOf(renderReport({ ...report, outcome: { ...outcome, isFinalActive: true, paired } }));
  expect(header).toContain(
    'A gain, significant at the 0.05 level. It compares these checkpoints on these tasks, not the methods',
  );
});

test('the report of a campaign without a gain states that there is none', () => {
  const { outcome } = report;
  const even = { ...outcome, isFinalActive: false, paired: { ...outcome.paired!, wins: 4, losses: 4, mcnemarP: 1 } };

  const header = textOf(renderReport({ ...report, outcome: even }));

  expect(header).toContain('The supervised start is still active: no candidate was promoted.');
  expect(header).toContain('No gain for the newest candidate: as many tasks were lost as won.');
});

/** Words that the page uses as keys; no user can write them. */
const keywords = new Set([
  'target',
  'failure',
  'promote',
  'keep',
  'train',
  'held-out',
  'evaluation',
  'dev',
  'gained',
  'lost',
  'near miss',
]);

function withDates(changed: CampaignReport): CampaignReport {
  const { createdAt, finishedAt } = report.campaign;
  return {
    ...changed,
    campaign: { ...changed.campaign, createdAt, finishedAt },
    phases: changed.phases.map((phase, i) => ({ ...report.phases[i]!, phase: phase.phase })),
    events: changed.events.map((event, i) => ({ ...event, recordedAt: report.events[i]!.recordedAt })),
  };
}

test('scenario goal completion is shown if held-out tasks belong to scenarios', () => {
  expect(page).not.toContain('Scenario goal completion');
  const { policyId, iteration } = report.evaluations[0]!;
  const shown = renderReport({
    ...report,
    scenarios: [{ policyId, evaluationSet: 'test', scenarios: 8, completed: 3 }],
  });
  expect(tableOf(shown, 'Scenario goal completion: scenarios with all tasks of the set solved')).toEqual([
    ['test', String(iteration), hash(policyId), '3', '8', '0.375'],
  ]);
});

test('scores on the test set stand apart, with the sentence that no choice reads it', () => {
  expect(textOf(page)).toContain('This campaign has scored no policy on a test set');
  const { start } = report.outcome;
  const whole = { ...report.setScores[0]!, evaluationSet: 'test', tasks: 40, successes: 10, attempts: 43, excluded: 3 };
  const group = {
    ...whole,
    meanReward: 0.5,
    feature: 'fold',
    value: 'unseen',
    tasks: 20,
    successes: 5,
    rewardDeviation: 0.4,
  };
  const shown = renderReport({
    ...report,
    outcome: { ...report.outcome, evaluationSet: 'test' },
    setScores: [{ ...whole, meanReward: 0.5, rewardDeviation: 0.4 }, group],
  });
  expect(textOf(shown)).toContain('No choice of the campaign reads the test set.');
  const scores = ['40', '10', '0.250', '3 of 43 (7 %)', '0.142 to 0.402', '0.500', '0.381 to 0.619'];
  expect(tableOf(shown, 'Sets that no choice reads')).toEqual([['test', '0', hash(start!.policyId), ...scores]]);
  expect(tableOf(shown, 'Scores by fold')).toEqual([
    ['test', 'unseen', '0', '20', '5', '0.250', '3 of 43 (7 %)', '0.112 to 0.469', '0.500', '0.338 to 0.662'],
  ]);
});
