type Settings = {
  hasModels: boolean;
  candidatesPerSignal: number;
  aims: string;
};

/** Rows of an iteration's synthesis, from which the cause of a missing candidate follows. */
export type SynthesisLosses = {
  iteration: number;
  candidates: number;
  /** Signals of the iteration, and their tasks that are in the pool. */
  signals: number;
  flagged: number;
  /** Tasks of the iteration's scored training attempts that no signal flags. */
  unflagged: number;
  /** Explored attempts; of them those whose reflection failed, and the first failure. */
  contexts: number;
  unreflected: number;
  reflection: string | null;
  /** Reflected contexts without a turn of the explorer, and the reason of the first run. */
  unexplored: number;
  exploration: string | null;
  /** Explored contexts whose abstraction failed, and the first failure. */
  unabstracted: number;
  abstraction: string | null;
};

/** Returns the cause for which an iteration's synthesis made no candidate, with the setting or the command that concerns it. */
export function zeroCandidates(name: string, settings: Settings, losses: SynthesisLosses): string {
  return `no candidates in iteration ${losses.iteration}: ${
    causeWithoutSource(settings, losses) ??
    (settings.hasModels ? causeOfModels(name, losses) : causeOfGenerator(settings, losses))
  }`;
}

/** The first pool needs no signal; later iterations start from the tasks that signals flag. */
function causeWithoutSource({ candidatesPerSignal, aims }: Settings, losses: SynthesisLosses): string | null {
  const { iteration, signals, flagged, unflagged } = losses;
  if (iteration === 0) return null;
  if (candidatesPerSignal === 0) return 'synthesis.candidatesPerSignal is 0';
  if (signals === 0)
    return 'no attempt raised a signal, so no task was flagged; signals.* in the spec sets the thresholds, and a policy that solves all or no tasks raises few';
  if (flagged === 0) return `the tasks that ${signals} signals flag are no longer in the pool`;
  if (aims === 'shuffled' && unflagged === 0) return '`synthesis.aims: shuffled` found no played task without a flag';
  return null;
}

const causeOfGenerator = ({ aims }: Settings, { iteration, flagged }: SynthesisLosses): string =>
  iteration === 0 || aims === 'random'
    ? "the environment's generator made no task"
    : `the environment's generator has no other variant of the ${flagged} flagged tasks`;

function causeOfModels(name: string, losses: SynthesisLosses): string {
  const { contexts, unreflected, unexplored, unabstracted } = losses;
  if (contexts === 0)
    return 'no attempt was chosen for exploration; synthesis.exploration.contextsPerSignal sets their number';
  const empty = contexts - unreflected - unexplored - unabstracted;
  const stages = [
    [unreflected, 'the reflector gave no usable answer', losses.reflection, 'reflector'],
    [unexplored, 'the explorer took no action', losses.exploration, 'explorer'],
    [unabstracted, 'the abstractor gave no usable answer', losses.abstraction, 'abstractor'],
    [empty, 'the abstractor wrote no task', null, 'abstractor'],
  ] as const;
  const causes = stages.flatMap(([lost, cause, detail, role]) => {
    if (lost === 0) return [];
    const share = lost === contexts ? `all ${contexts}` : `${lost} of ${contexts}`;
    return `${cause} for ${share} explored attempts${detail ? ` (${detail})` : ''}: \`coevolve calls ${name} --role ${role}\``;
  });
  return causes.join('; ');
}
