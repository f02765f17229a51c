import { createRandom } from '../../domain/random/seeded-random';
import { trajectoryId } from '../../domain/campaign/ids';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { compareText } from '../../domain/compare-text';
import { groupBy } from '../../domain/group-by';
import { pagesOf } from '../../domain/pages';
import { detectBoundary } from '../../domain/signals/detect-boundary';
import { detectForgetting } from '../../domain/signals/detect-forgetting';
import { detectRare, rarityOf, isRare, type RareSettings, type Rarity } from '../../domain/signals/detect-rare';
import type { FeedbackSettings } from '../../domain/signals/feedback-settings';
import type { FeedbackSignal } from '../../domain/signals/feedback-signal';
import { rateSignals, ratedTasks, type RatedTasks } from '../../domain/signals/unchanged-policy';
import type { IterationKey } from '../../store/campaign/iterations';
import type { WindowAttempt } from '../../store/trajectories/attempt-groups';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { countPatterns } from './count-patterns';
import { completed, createPause, type Pause } from '../context/pause';

/**
 * Detects the feedback signals of an iteration from its stored attempts, and compares them with the signals of an
 * unchanged policy. It reads the iteration's attempts, and of earlier ones only the groups in the window of their tasks. A
 * retry gives the same signals.
 */
export const detectSignals =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const pause = createPause();
    await countPatterns(deps, key, spec.signals.rare.pattern, pause);
    const patterns = await readPatterns(deps, key, spec.signals.rare);
    const found: FeedbackSignal[][] = [[], [], []];
    const rated: RatedTasks[] = [];
    for (const taskIds of await pagesOfTasks(deps, key, spec.signals)) {
      const page = await detectPage(deps, key, taskIds, { settings: spec.signals, patterns });
      for (const [kind, signals] of page.signals.entries()) found[kind]!.push(...signals);
      rated.push(page.rated);
      await pause();
    }
    const signals: FeedbackSignal[][] = [];
    for (const ofKind of found) signals.push(await sortedSignals(key, ofKind, pause));
    await deps.store.feedbackSignals.save(key, signals.flat());
    const random = createRandom(iterationSeed(spec, key.iteration, 'unchanged-policy'));
    await deps.store.feedbackSignals.saveRates(key, await completed(rateSignals(rated, spec.signals, random), pause));
    await deps.store.iterations.recordWork(key, 'detect', 'signals');
  };

/**
 * Sorts signals by trajectory id, which begins with iteration, purpose and 12 digits of the policy. The signals of one
 * policy are almost in order, because tasks are: a sort of all of them together blocks the process for 0.2 s.
 */
async function sortedSignals(
  { iteration }: IterationKey,
  signals: readonly FeedbackSignal[],
  pause: Pause,
): Promise<FeedbackSignal[]> {
  const { length } = trajectoryId({ iteration, purpose: 'train', policyId: '0'.repeat(64), taskId: '', attempt: 0 });
  const byPolicy = groupBy(signals, (signal) => signal.trajectoryId.slice(0, length - '/0'.length));
  const sorted: FeedbackSignal[][] = [];
  for (const [, ofPolicy] of [...byPolicy].sort(([a], [b]) => compareText(a, b))) {
    sorted.push(ofPolicy.sort((a, b) => compareText(a.trajectoryId, b.trajectoryId)));
    await pause();
  }
  return sorted.flat();
}

/** `byIteration`: the patterns of an iteration by their ordinals. */
type Patterns = { rarity: Rarity; byIteration: ReadonlyMap<number, readonly Pattern[]> };
type Pattern = { text: string; isRare: boolean };

async function readPatterns(
  { store: { attemptGroups } }: Dependencies,
  { campaignId, iteration }: IterationKey,
  settings: RareSettings,
): Promise<Patterns> {
  const rows = await attemptGroups.listPatterns(campaignId, iteration);
  const attempts = await attemptGroups.countAttempts(campaignId, iteration);
  const distinct = new Map(rows.map((row) => [row.pattern, row]));
  const rarity = rarityOf(distinct.values(), attempts, settings);
  const byIteration = new Map<number, Pattern[]>();
  for (const { iteration: number, ordinal, pattern } of rows) {
    if (!byIteration.has(number)) byIteration.set(number, []);
    byIteration.get(number)![ordinal] = { text: pattern, isRare: isRare(pattern, rarity, settings) };
  }
  return { rarity, byIteration };
}

/** Attempts at a task are detected together, and with a window of a type the attempts at all of its tasks. */
async function pagesOfTasks(
  { store: { attemptGroups } }: Dependencies,
  { campaignId, iteration }: IterationKey,
  { forgetting: { scope } }: FeedbackSettings,
): Promise<Iterable<readonly string[]>> {
  if (scope === 'task') return pagesOf(await attemptGroups.listGrouped(campaignId, iteration), tasksPerPage);
  const tasks = await attemptGroups.listTasks(campaignId, iteration);
  return [...groupBy(tasks, ({ taskType }) => taskType).values()].map((ofType) => ofType.map(({ taskId }) => taskId));
}

const tasksPerPage = 50;

/** Returns the signals of each kind at some tasks, and the attempts for their rates. */
async function detectPage(
  { store: { attemptGroups } }: Dependencies,
  key: IterationKey,
  taskIds: readonly string[],
  { settings, patterns: { rarity, byIteration } }: { settings: FeedbackSettings; patterns: Patterns },
): Promise<{ signals: FeedbackSignal[][]; rated: RatedTasks }> {
  const { forgetting, boundary, rare } = settings;
  const attempts = await attemptGroups.listWindow(key, taskIds, forgetting.window);
  const patternsOf = ({ iteration, patterns }: WindowAttempt): Pattern[] =>
    patterns.map((ordinal) => byIteration.get(iteration)![ordinal]!);
  const current = attempts.filter(({ iteration }) => iteration === key.iteration);
  const history = attempts.filter(({ iteration }) => iteration < key.iteration);
  const withPatterns = current.map((attempt) => ({
    ...attempt,
    patterns: patternsOf(attempt).map(({ text }) => text),
  }));
  return {
    signals: [
      detectForgetting(current, history, forgetting),
      detectBoundary(current, boundary),
      detectRare(withPatterns, rarity, rare),
    ],
    rated: ratedTasks(attempts, key.iteration, (attempt) => patternsOf(attempt).some((one) => one.isRare), forgetting),
  };
}
