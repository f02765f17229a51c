import { DomainError } from '../../domain/errors';
import { judgeVersion } from '../../llm/prompts/judge';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { needsJudge } from '../../domain/tasks/admission/validate-candidate';
import type { Candidate, Judgement } from '../../domain/tasks/admission/candidate';
import type { TaskRow } from '../../store/tasks/tasks';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';
import { closeCalibration } from './close-calibration';
import { distrustOf } from './distrust';
import { judgeCalibration } from './judge-calibration';
import { planCalibration, referenceTasks } from './plan-calibration';
import { playCalibration } from './play-calibration';

type Stored = Pick<Dependencies, 'store'>;

/**
 * Returns why the verdicts of a judge do not count: it was never calibrated although it could be, or its newest calibration
 * is below the required agreement. Null if they count. Without reference actions nothing can be calibrated.
 */
export async function findDistrust(
  { store }: Stored,
  spec: CampaignSpec,
  campaignId: number,
  version = judgeVersion(spec),
): Promise<string | null> {
  const newest = await store.judgeCalibrations.findNewest(campaignId, version);
  if (newest) return distrustOf(newest, spec.judge.minimumAgreement);
  const pool = await store.tasks.list(campaignId, { verdict: 'admitted', split: 'train' });
  return referenceTasks(pool).length > 0 ? `the judge "${version}" was never calibrated` : null;
}

/**
 * Requires a judge whose verdicts count, where they decide about candidates. With `judge.whenUntrusted: solver` the solver replaces it.
 *
 * @throws DomainError `UntrustedJudge`
 */
export async function requireVote(deps: Stored, { spec, key }: Asked): Promise<void> {
  if (spec.judge.whenUntrusted === 'solver') return;
  const why = await findDistrust(deps, spec, key.campaignId);
  if (why !== null) throw untrustedJudge(why, { spec, key });
}

function untrustedJudge(why: string, { spec, key }: Asked): DomainError {
  const other = 'llm.models.judge.model=<model>';
  const next =
    key.iteration === 0
      ? `\`coevolve start\` another campaign with ${other}`
      : `\`coevolve fork ${spec.name} --from-iteration ${key.iteration - 1} --name <name> --set ${other}\``;
  return new DomainError(
    'UntrustedJudge',
    `${why}; its verdicts would admit tasks. ${next} continues with another judge; or set synthesis.rule=solvable, ` +
      'judge.whenUntrusted=solver, judge.calibrationTasks above 1, or a lower judge.minimumAgreement',
  );
}

type Asked = { spec: CampaignSpec; key: Pick<IterationKey, 'campaignId' | 'iteration'> };

/**
 * Calibrates the judge as it is now, unless that was done: an upgrade with another prompt leaves no calibration of it, and
 * the iterations that it interrupts planned none.
 *
 * Idempotent, like the activities that it consists of.
 */
export async function calibrateIfNew(deps: Dependencies, spec: CampaignSpec, key: IterationKey): Promise<void> {
  if (spec.judge.calibrationTasks === 0) return;
  if (await deps.store.judgeCalibrations.findNewest(key.campaignId, judgeVersion(spec))) return;
  const { campaignId, iteration, epoch } = key;
  const own = { campaignId, iteration, epoch };
  const { items } = await planCalibration(deps)(own);
  await playCalibration(deps)(own);
  await judgeCalibration(deps)({ ...own, from: 0, to: items });
  await closeCalibration(deps)(own);
}

/** Returns whether the verdict of the judge decides about an executed candidate. */
export const isJudged = (task: TaskRow, { synthesis: { rule } }: CampaignSpec): boolean =>
  needsJudge({ author: authorOf(task), hasChecker: task.grader === 'environment' }, rule);

export const authorOf = ({ contextId }: Pick<TaskRow, 'contextId'>): Candidate['author'] =>
  contextId === null ? 'generator' : 'model';

/**
 * Returns the verdicts on candidates by task, each with the trust in the version of the judge that gave it.
 *
 * @throws DomainError `UntrustedJudge` when one of them would decide, its judge is not trusted, and nothing replaces it
 */
export async function judgementsOf(
  deps: Stored,
  spec: CampaignSpec,
  key: IterationKey,
  tasks: readonly TaskRow[],
): Promise<Map<string, Judgement>> {
  const stored = new Map((await deps.store.judgements.list(key, 'candidate')).map((made) => [made.taskId, made]));
  const deciding = tasks.filter((task) => isJudged(task, spec)).flatMap(({ id }) => stored.get(id) ?? []);
  const untrusted = new Set<string>();
  for (const version of new Set(deciding.map(({ judgeVersion: found }) => found))) {
    const why = await findDistrust(deps, spec, key.campaignId, version);
    if (why === null) continue;
    if (spec.judge.whenUntrusted !== 'solver') throw untrustedJudge(why, { spec, key });
    untrusted.add(version);
  }
  return new Map(
    [...stored].map(([taskId, made]) => [taskId, { ...made, isTrusted: !untrusted.has(made.judgeVersion) }]),
  );
}
