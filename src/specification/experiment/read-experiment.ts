import { describeIssue } from '../../input/describe-issue';
import { didYouMean } from '../../input/did-you-mean';
import { isSection, merge } from '../../input/merge';
import { parseYaml, withPosition, type ParsedYaml } from '../../input/parse-yaml';
import { DomainError } from '../../domain/errors';
import type { Contrast, Experiment } from '../../domain/experiment/experiment';
import { readText } from '../read-spec-file';
import { secretOptions } from '../secret-options';
import { armLayer, baseLayers } from './arm-layers';
import type { CampaignSpec } from '../campaign-spec';
import { evaluationAttempts } from '../evaluation-settings';
import { analysisProblems, contrastOf, looksOf, passProblems, shareProblems, sizeProblems } from './check-analysis';
import { experimentSchema, type ExperimentFile } from './experiment-schema';
import { withChange, type SpecChange, type SpecLayer } from '../spec-layers';
import { resolveArms, type GivenArms } from './resolve-arms';

type Options = {
  profile?: string | undefined;
  /** Returns defaults of an arm, or of the base (null), which values of the file replace. */
  defaultsOf?: ((arm: string | null) => readonly SpecChange[]) | undefined;
};

/** An experiment, and the text of its file. */
export type ExperimentSource = { experiment: Experiment; source: string; profile: string | null };

export type LoadedExperiment = ExperimentSource & { given: GivenArms };

/**
 * Reads an experiment with every value written out. `default` is the file without a profile.
 *
 * @throws DomainError `InvalidExperiment` with one line per problem, `UnknownProfile`; UsageError for an unreadable file
 */
export const readExperiment = async (file: string, options: Options = {}): Promise<Experiment> =>
  (await loadExperiment(file, options)).experiment;

/** As `readExperiment`, with the text of the file. */
export async function loadExperiment(
  file: string,
  { profile: asked, defaultsOf = () => [] }: Options = {},
): Promise<LoadedExperiment> {
  const source = await readText(file);
  const parsed = parseYaml(source);
  if ('problems' in parsed) throw invalid(file, parsed.problems);
  const profile = asked === undefined || asked === 'default' ? null : asked;
  const read = readSections(file, parsed, profile);
  const origin = { file, parsed, profile };
  const layers = await baseLayers(origin, read);
  const layersOf = (arm: string | null): SpecLayer[] => [
    defaultsLayer(file, defaultsOf(arm)),
    ...layers,
    ...(arm === null ? [] : [armLayer(origin, arm, read.arms[arm]!.set)]),
  ];
  const { arms, problems, given } = resolveArms(read, layersOf, file);
  const attempts = arms.map(({ name, spec }) => ({ name, attempts: evaluationAttempts(spec as CampaignSpec) }));
  const passed = passProblems(read.analysis.metric, attempts);
  const all = [...problems, ...analysisProblems(read), ...shareProblems(read, arms), ...sizeProblems(read), ...passed];
  if (all.length > 0)
    throw invalid(
      file,
      all.map((problem) => withPosition(problem, parsed)),
    );
  return { experiment: experimentOf(read, arms), source, profile, given };
}

const defaultsLayer = (file: string, changes: readonly SpecChange[]): SpecLayer => ({
  file,
  value: changes.reduce<unknown>(withChange, {}),
  positionOf: () => undefined,
});

/** Validates the whole file, also the profiles that are not chosen, and merges the chosen one over it. */
function readSections(file: string, parsed: ParsedYaml, profile: string | null): ExperimentFile {
  const whole = experimentSchema.safeParse(parsed.value, { reportInput: true });
  const wrong = whole.success
    ? []
    : whole.error.issues.flatMap((issue) => describeIssue(issue, experimentSchema, parsed.value));
  const secrets = isSection(parsed.value)
    ? Object.entries(parsed.value).flatMap(([key, value]) =>
        isSection(value) ? secretOptions(value, key, remedy) : [],
      )
    : [];
  if (!whole.success || secrets.length > 0)
    throw invalid(
      file,
      [...wrong, ...secrets].map((problem) => withPosition(problem, parsed)),
    );
  if (Object.hasOwn(whole.data.profiles, 'default'))
    throw invalid(file, ['profiles.default: found a profile, expected another name: default is the file without one']);
  if (profile === null) return whole.data;
  if (!Object.hasOwn(whole.data.profiles, profile))
    throw unknownProfile(file, profile, Object.keys(whole.data.profiles));
  const { base: _base, ...changes } = (parsed.value as { profiles: Record<string, Record<string, unknown>> }).profiles[
    profile
  ]!;
  const value = { ...(merge(parsed.value, changes) as ExperimentFile), name: `${whole.data.name}-${profile}` };
  const merged = experimentSchema.safeParse(value, { reportInput: true });
  if (merged.success) return merged.data;
  const problems = merged.error.issues.flatMap((issue) => describeIssue(issue, experimentSchema, value));
  throw invalid(
    file,
    problems.map((problem) => `profiles.${profile}, ${problem}`),
  );
}

const remedy = 'an experiment is stored and printed; write it to a file that a setting of the environment names';

function experimentOf(read: ExperimentFile, arms: Experiment['arms']): Experiment {
  const { name, seed, question, concurrency, match, analysis } = read;
  const { decided, ...stopping } = read.stopping;
  return {
    name,
    seed,
    question,
    arms,
    looks: looksOf(read.seeds),
    concurrency,
    match,
    stopping: decided ? { ...stopping, decided } : stopping,
    analysis: {
      metric: analysis.metric,
      primary: contrastOf(analysis.primary.contrast) as Contrast,
      alpha: analysis.primary.alpha,
      secondary: analysis.secondary.map((item) => contrastOf(item) as Contrast),
      ordering: analysis.ordering,
      margin: analysis.equivalence.margin,
      breakdown: analysis.breakdown,
      ...(analysis.companion ? { companion: analysis.companion } : {}),
    },
  };
}

const unknownProfile = (file: string, found: string, names: readonly string[]): DomainError =>
  new DomainError(
    'UnknownProfile',
    `--profile: found "${found}", expected one of ${['default', ...names].join(', ')}, the profiles of ${file}${didYouMean(found, names)}`,
  );

function invalid(file: string, problems: readonly string[]): DomainError {
  const list = problems.map((problem) => `  ${problem}`).join('\n');
  return new DomainError(
    'InvalidExperiment',
    `${file} is not an experiment:\n${list}\ndocs/experiments.md explains every key; \`coevolve experiment plan ${file}\` checks it without starting.`,
  );
}
