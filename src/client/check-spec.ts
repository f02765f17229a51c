import { artifactStore, type ArtifactStore } from '../artifacts/artifact-store';
import { requirePolicy } from '../artifacts/require-policy';
import { getModel, requireFunctionFormat } from '../artifacts/imported-models';
import { codeOf, ConfigError, messageOf, ServiceError, StackError } from '../errors/errors';
import type { Config } from '../config';
import { DomainError } from '../domain/errors';
import { deriveSeed } from '../domain/random/seed-tree';
import { repeatedTasks, shownIds } from '../domain/tasks/repeated-tasks';
import { createEnvironments, type Environments } from '../envs/environments';
import { EnvironmentError } from '../envs/contract/environment-error';
import { loadExperts } from '../envs/experts/expert-file';
import type { Capabilities } from '../envs/server/environment-data';
import { readProviders, requireProviders } from '../llm/providers';
import type { CampaignSpec } from '../specification/campaign-spec';
import { evaluationDraws } from '../specification/evaluation-settings';
import type { Store } from '../store';
import type { CampaignRow } from '../store/campaign/campaigns';
import { backends } from '../training/backends';
import { estimate } from '../specification/estimate';
import { trainsPolicies } from '../specification/estimate-training';
import { fitLengths } from './fit/fit-lengths';
import { absurdRates } from '../specification/learning-rates';
import { lowBudget, weakSettings } from '../specification/weak-settings';
import { measureLengths } from './fit/measure-lengths';
import { recordedLengths } from './fit/recorded-lengths';
import { unseenWords } from './fit/unseen-words';
import { hashAsStored, nameTaken } from '../specification/read-spec';
import { checkDevices, positionsOf } from './check-devices';
import { checkEngine } from './check-engine';
import { requireSearchAttributes } from '../temporal/search-attributes';
import { requireEnvironment } from './require-environment';
import { withConnections } from './connections';

export type SpecCheck = {
  /** Reasons why the campaign cannot run here. */
  problems: Error[];
  /** Servers that did not answer. */
  unreachable: Error[];
  /** Settings that nothing here can check now, with the reason. */
  unchecked: string[];
  /** Settings with which the campaign runs and learns little or nothing, or stops early. */
  warnings: string[];
  /** Memory of devices that jobs and the policy server need; empty without devices. */
  needs: string[];
  /** null if the environment was not found. */
  capabilities: Capabilities | null;
};

export type CheckOptions = {
  /** Needed to check settings that name another campaign. */
  store?: Store | undefined;
  /** False for a campaign that does not draw tasks from its environment, such as a fork. */
  drawsTasks: boolean;
};

/** Checks a spec against this machine, its files and its servers, and collects all problems. Changes nothing. */
export async function checkSpec(
  config: Config,
  spec: CampaignSpec,
  { store, drawsTasks }: CheckOptions,
): Promise<SpecCheck> {
  const warnings = weakSettings(spec);
  const check: SpecCheck = { problems: [], unreachable: [], unchecked: [], warnings, needs: [], capabilities: null };
  const { policy, synthesis, compute, environment } = spec;
  const artifacts = artifactStore(config.artifacts);
  const checks: (() => unknown)[] = [
    () => requireProviders(spec, readProviders(config)),
    () => checkTemporal(config),
    () => backends[compute.backend].check(config),
    () => checkModel(artifacts, spec),
    () => policy.id !== null && requirePolicy(artifacts, policy.id),
    () => environment.experts !== null && loadExperts(artifacts, environment.experts, environment.name),
    () => checkMatch(check, synthesis.match, store),
    async () => add(check, await checkDevices(config, artifacts, spec)),
    async () => add(check, await checkEngine(config, spec)),
    async () => {
      const environments = createEnvironments(config, { timeoutMs: drawTimeoutMs });
      check.capabilities = await requireEnvironment(environments, spec);
      if (!drawsTasks) return;
      await checkTasks(check, environments, spec);
      await checkLengths(check, config, spec);
    },
  ];
  for (const run of checks) {
    try {
      await run();
    } catch (error) {
      record(check, error);
    }
  }
  return check;
}

type Found = Partial<Pick<SpecCheck, 'problems' | 'unchecked' | 'needs'>>;

function add(check: SpecCheck, { problems = [], unchecked = [], needs = [] }: Found): void {
  check.problems.push(...problems);
  check.unchecked.push(...unchecked);
  check.needs.push(...needs);
}

/** A server that does not answer is named when the campaign is started. */
async function checkTemporal({ temporal }: Config): Promise<void> {
  if (!temporal.address) return;
  await requireSearchAttributes(temporal).catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
  });
}

async function checkModel(artifacts: ArtifactStore, { policy, training }: CampaignSpec): Promise<void> {
  const { source, model, functions } = policy;
  if (source !== 'imported' || model === null) return;
  const found = await getModel(artifacts, model);
  if (functions === 'template') requireFunctionFormat(found);
  const rates = absurdRates(policy, training, found.parameters);
  if (rates.length > 0) throw invalid(rates.join('\n'));
}

/**
 * Checks a spec without starting its campaign. What this machine lacks, such as a model, a GPU, an environment or a server
 * that answers, is no problem of the spec: its settings are listed as not checked, with the remedy.
 */
export async function dryRun(
  config: Config,
  spec: CampaignSpec,
): Promise<Pick<SpecCheck, 'problems' | 'unchecked' | 'warnings' | 'needs'>> {
  const { databaseUrl } = config;
  const check = databaseUrl
    ? await withConnections(({ store }) => checkStored(config, spec, store), config)
    : await checkSpec(config, spec, { drawsTasks: true });
  const { problems, unreachable, unchecked, warnings, needs } = check;
  const down = unreachable.map(messageOf).map((text) => text.replace('\n  next: ', '; '));
  const missing = problems.filter(isMissingHere).map(messageOf);
  return {
    needs,
    warnings,
    problems: problems.filter((error) => !isMissingHere(error)),
    unchecked: [...unchecked, ...missing, ...down],
  };
}

const isMissingHere = (error: Error): boolean =>
  error instanceof DomainError && ['UnknownModel', 'NoProviders', 'NoGpu', 'NotInstalled'].includes(error.code);

/** Checks with the database; without it if it cannot be read. */
async function checkStored(config: Config, spec: CampaignSpec, store: Store): Promise<SpecCheck> {
  let stored: CampaignRow | undefined;
  try {
    stored = await store.campaigns.find(spec.name);
  } catch (error) {
    const check = await checkSpec(config, spec, { drawsTasks: true });
    const reason = messageOf(error) || codeOf(error);
    return { ...check, unchecked: [...check.unchecked, `name: the database cannot be read (${reason})`] };
  }
  const check = await checkSpec(config, spec, { store, drawsTasks: !stored });
  if (stored && stored.specHash !== hashAsStored(spec, stored)) check.problems.push(nameTaken(stored, spec));
  return check;
}

/** A draw that searches reference paths may take minutes; the plan phase waits for it. */
const drawTimeoutMs = 20_000;

function record({ problems, unreachable }: SpecCheck, error: unknown): void {
  if (error instanceof StackError || (error instanceof ServiceError && error.retryable)) unreachable.push(error);
  else if (error instanceof DomainError || error instanceof ConfigError || error instanceof ServiceError)
    problems.push(error);
  else throw error;
}

async function checkMatch({ unchecked }: SpecCheck, match: string | null, store: Store | undefined): Promise<void> {
  if (match === null) return;
  if (store) await store.matches.getMatched(match);
  else unchecked.push(`synthesis.match: without the database, campaign ${match} is unknown`);
}

/** Compares the spec with trajectories of its environment; a spec whose environment has problems has no measured ones. */
async function checkLengths(check: SpecCheck, config: Config, spec: CampaignSpec): Promise<void> {
  if (check.problems.length > 0 || !trainsPolicies(spec)) return;
  const lengths = await measureLengths(config, spec);
  check.warnings.push(...lowBudget(spec, estimate(spec, lengths ?? recordedLengths(spec))));
  if (!lengths?.rows) return;
  const positions = await positionsOf(artifactStore(config.artifacts), spec);
  const context = config.policyServer.contextTokens ?? null;
  const { problems, warnings } = fitLengths(spec, lengths.rows, { positions, context });
  check.problems.push(...problems.map(invalid));
  check.warnings.push(...warnings);
}

/** Draws the tasks as the plan phase does: the environment checks its options, and the number of tasks is counted. */
async function checkTasks(check: SpecCheck, { data }: Environments, spec: CampaignSpec): Promise<void> {
  const { name, options: own, trainTasks, form } = spec.environment;
  const seed = deriveSeed(spec.seed, 'tasks');
  const draws = [
    { key: 'environment.trainTasks', split: 'train', count: trainTasks, options: own } as const,
    ...evaluationDraws(spec).map((draw) => ({ ...draw, split: 'held-out' as const, count: draw.tasks })),
  ];
  // At once: each may wait until its time is over.
  const answers = await Promise.allSettled(
    draws.map(({ split, count, options }) => data.tasks(name, { split, count, seed, options, form })),
  );
  const [train = [], ...heldOut] = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  for (const [index, { key, split, count }] of draws.entries()) {
    const answer = answers[index]!;
    if (answer.status === 'rejected') {
      const error: unknown = answer.reason;
      if (!(error instanceof EnvironmentError)) throw error;
      if (error.kind === 'rejected') {
        check.problems.push(invalid(`environment: ${name} rejects the spec: ${reasonOf(error)}`));
        return; // the other draws have nearly the same options
      }
      const drawn = error.progress ? `drawn ${error.progress.ready} of ${count}` : 'not drawn the';
      check.unchecked.push(`${key}: ${name} has ${drawn} tasks so far; the campaign's own draw waits for all of them`);
      continue;
    }
    const { length } = answer.value;
    if (length < count)
      check.problems.push(invalid(`${key}: found ${count}, expected at most ${length}, the ${split} tasks of ${name}`));
    const repeated = repeatedTasks(answer.value, split === 'train' ? [] : train);
    if (repeated.length > 0)
      check.problems.push(
        invalid(`${key}: ${name} repeats ${repeated.length} of ${length} ${split} tasks: ${shownIds(repeated)}`),
      );
  }
  check.warnings.push(...unseenWords(spec, train, heldOut.flat()));
}

/** Returns the server's own words without the route and the status, if it sent any. */
const reasonOf = ({ message }: EnvironmentError): string =>
  /\{"detail":\s*"(.*)"\}$/s.exec(message)?.[1]?.replaceAll('\\"', '"') ?? message;

/** @throws the error itself if there is one; DomainError `InvalidSpec` with one line per problem if there are more */
export function throwProblems(problems: readonly Error[]): void {
  if (problems.length === 1) throw problems[0];
  if (problems.length > 1) throw invalid(problems.map(messageOf).join('\n'));
}

const invalid = (message: string): DomainError => new DomainError('InvalidSpec', message);
