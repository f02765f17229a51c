import { admit, type Decision } from '../../domain/tasks/admission/admit';
import { aimOfTask, validationId } from '../../domain/campaign/ids';
import {
  admissionReasons,
  type Candidate,
  type Execution,
  type KnownTask,
} from '../../domain/tasks/admission/candidate';
import { comparedHeldOut, comparedInPool, type ComparedTasks } from '../../domain/tasks/admission/compared-tasks';
import { tasksNeedApproval } from '../../domain/campaign/approval';
import { DomainError } from '../../domain/errors';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { KnownGoal } from '../../store/tasks/pools';
import type { TaskRow } from '../../store/tasks/tasks';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import type { TrajectorySummary } from '../../store/trajectories/trajectories';
import { completed, createPause } from '../context/pause';
import { authorOf, judgementsOf } from './judge-trust';
import { admissionRulesOf, hasEmbeddings } from './admission-rules';
import { embedGoals, type GoalVectors } from './embed-goals';
import { limitsOf, matchGroups, missingOf } from './match-groups';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { energyDistances, neighbourSimilarity } from '../../domain/tasks/diversity';

/** Timeout for reading the embeddings, which `embedCandidates` has already requested and stored. */
const embeddingsTimeoutMs = 60_000;

/**
 * Decides every candidate of an iteration, or of one refill (`admit`). Returns the aims that admitted too few tasks to match
 * another campaign and may be refilled; null without a matched campaign. After the last refill, records the diversity and
 * relevance of the admitted tasks.
 *
 * Idempotent: decisions depend only on stored rows that they do not change, so a retry makes the same decisions and does
 * not change stored ones.
 *
 * @throws DomainError `ApprovalNeeded` when candidates need an approval that is still missing: all others are decided;
 * `UntrustedJudge` when verdicts of a judge that is not trusted would decide; `MatchTooEarly` when the matched campaign of a control has not validated this iteration yet
 */
export const admitTasks =
  (deps: Dependencies) =>
  async ({ refill = 0, ...key }: IterationKey & { refill?: number }): Promise<SynthesisAim[] | null> => {
    const { spec, name } = await getCampaign(deps, key.campaignId);
    const { tasks, admission } = deps.store;
    const all = hasEmbeddings(spec) ? await tasks.list(key.campaignId) : [];
    const present = all.filter((task) => !isCandidateOf(key, task) || task.refill <= refill); // also when it is repeated
    const vectors = await embedGoals(deps, { spec, key }, present, AbortSignal.timeout(embeddingsTimeoutMs));
    const approval = await admission.findApproval(key.campaignId, key.iteration);
    const groups = await matchGroups(deps.store, spec, key, refill);
    const rules = admissionRulesOf(spec, key.iteration, { approval, limits: groups && limitsOf(groups) });

    const known = rules.embedded || rules.diversity.floor > 0 ? vectors : null;
    const made = await tasks.list(key.campaignId, { createdIteration: key.iteration, isSeed: false });
    const candidates = await toCandidates(deps, spec, key, {
      tasks: made.filter((task) => task.refill === refill),
      vectors: known,
    });
    const compare = (split: TaskSplit, compared: ComparedTasks): Promise<KnownTask[]> =>
      findCompared(deps.store.pools.readKnown(key, split, refill), compared, known);
    const pool = await compare('train', comparedInPool(candidates, rules));
    const heldOut = await compare('held-out', comparedHeldOut(candidates, rules));
    const decisions = admit(candidates, pool, heldOut, rules);
    await admission.decide(key, decisions);
    requireApproval(name, key, decisions);
    const short = groups && (await recordMatch(deps, key, spec, refill));
    if (!short?.length) await recordDiversity(deps, key, spec.admission, vectors);
    return short;
  };

/** Records the match of the iteration so far. Returns the aims to refill; tasks that need an approval are never refilled. */
async function recordMatch(
  { store }: Dependencies,
  key: IterationKey,
  spec: CampaignSpec,
  refill: number,
): Promise<SynthesisAim[]> {
  const groups = (await matchGroups(store, spec, key, refill + 1)) ?? [];
  const { match, refills, approval } = spec.synthesis;
  const sum = (unit: 'wanted' | 'admitted'): number => groups.reduce((total, group) => total + group[unit], 0);
  await store.matches.save(key, {
    matched: match!,
    wanted: sum('wanted'),
    admitted: sum('admitted'),
    refills: refill,
  });
  if (refill >= refills || approval) return [];
  return groups.filter((group) => missingOf(group) > 0).flatMap(({ aims }) => aims);
}

/** True if the iteration synthesized the task, for any verdict. */
const isCandidateOf = ({ iteration }: IterationKey, { origin, createdIteration }: TaskRow): boolean =>
  origin !== 'seed' && createdIteration === iteration;

/** Returns the tasks of a pool that can change a decision about the candidates. */
async function findCompared(
  pages: AsyncIterable<readonly KnownGoal[]>,
  compared: ComparedTasks,
  vectors: GoalVectors | null,
): Promise<KnownTask[]> {
  const pause = createPause();
  for await (const page of pages) {
    const tasks = page.map((goal) => ({ ...goal, vector: vectors?.vectorOf(goal) ?? null }));
    await completed(compared.read(tasks), pause);
  }
  return compared.found();
}

async function toCandidates(
  deps: Dependencies,
  spec: CampaignSpec,
  key: IterationKey,
  { tasks, vectors }: { tasks: readonly TaskRow[]; vectors: GoalVectors | null },
): Promise<Candidate[]> {
  const { store } = deps;
  const idOf = (taskId: string): string => validationId(key.iteration, taskId);
  const ids = tasks.map(({ id }) => idOf(id));
  const played = await store.trajectories.findFinished(key.campaignId, ids);
  const judgementOf = await judgementsOf(deps, spec, key, tasks);
  const attemptsOf = await store.admission.countSolved(key);
  return tasks.map((task) => ({
    id: task.id,
    aim: aimOfTask(task.id),
    source: task.contextId ?? task.parentTaskId,
    relation: task.relation,
    confidence: task.confidence,
    goal: task.goal,
    contentKey: task.contentKey,
    actions: task.referenceActions,
    author: authorOf(task),
    refusal: refusalOf(task),
    execution: executionOf(task, played.get(idOf(task.id))),
    judgement: judgementOf.get(task.id) ?? null,
    attempts: attemptsOf.get(task.id) ?? null,
    vector: vectors?.vectorOf(task) ?? null,
  }));
}

/** Returns the reason of a rejection at synthesis: `not-executable`, or a reason that admission does not have. */
function refusalOf({ verdict, reason }: TaskRow): string | null {
  const isFromAdmission = reason !== 'not-executable' && admissionReasons.some((known) => known === reason);
  return verdict === 'rejected' && !isFromAdmission ? reason : null;
}

/** If the judge grades the attempts of a task, the environment's reward is meaningless and not used. */
const executionOf = ({ grader }: TaskRow, play: TrajectorySummary | undefined): Execution => ({
  played: play?.outcome === 'scored',
  reward: grader === 'environment' ? (play?.reward ?? null) : null,
});

function requireApproval(name: string, { iteration }: IterationKey, decisions: readonly Decision[]): void {
  const waiting = decisions.filter(({ outcome }) => outcome === 'waiting').length;
  if (waiting > 0) throw new DomainError('ApprovalNeeded', tasksNeedApproval(name, iteration, waiting));
}

/**
 * Records the similarity of the tasks that an iteration admitted (SR@k) and their distance from the set dev (ED,
 * EDrel): eq. 2 to 4 of arXiv:2604.15840. A similarity of at least the collapse threshold is an alarm, except among goals that
 * are played in many worlds.
 */
async function recordDiversity(
  { store }: Dependencies,
  key: IterationKey,
  { compare, diversity: { neighbours, collapse } }: CampaignSpec['admission'],
  { encoder, vectorOf }: GoalVectors,
): Promise<void> {
  const made = { verdict: 'admitted', createdIteration: key.iteration, isSeed: false } as const;
  const admitted = await store.tasks.list(key.campaignId, made);
  const heldOut = await store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'held-out' });
  const pause = createPause();
  const intents = admitted.map(vectorOf);
  const similarity = neighbourSimilarity(intents, neighbours);
  await pause();
  const targets = heldOut.filter(({ evaluationSet }) => evaluationSet === 'dev').map(vectorOf);
  const comparable = intents.length > 0 && targets.length > 0;
  const distances = comparable ? await completed(energyDistances(targets, intents), pause) : null;
  await store.admission.saveDiversity(key, {
    encoder,
    tasks: intents.length,
    neighbours,
    similarity,
    energyDistance: distances?.distance ?? null,
    relativeDistance: distances?.relative ?? null,
    collapsed: compare !== 'contents' && similarity !== null && similarity >= collapse,
  });
}
