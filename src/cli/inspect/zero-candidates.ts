import type { PhaseRow } from '../../store/campaign/iterations';

/** Explains each synthesis without candidates by the signals of its iteration, in one line. */
export function zeroCandidates(phases: readonly PhaseRow[]): string[] {
  const empty = phases.filter(({ phase, result }) => phase === 'synthesize' && result?.['candidates'] === 0);
  return empty.map(({ iteration }) => {
    const detected = phases.find((row) => row.phase === 'detect' && row.iteration === iteration);
    return `no candidates in iteration ${iteration}: ${reasonFor(detected)}`;
  });
}

function reasonFor(detected: PhaseRow | undefined): string {
  if (!detected) return 'the environment or the language model proposed none for the initial pool';
  const signals = Object.values(detected.result ?? {}).reduce<number>((sum, count) => sum + Number(count), 0);
  if (signals === 0)
    return 'no attempt raised a signal, so no task was flagged; signals.* in the spec sets the thresholds, and a policy that solves all or no tasks raises few';
  return `${signals} signals flagged tasks, but no new task came from them: synthesis.candidatesPerSignal is 0, \`synthesis.aims: shuffled\` found no played task without a flag, the environment has no other variant, or the language model's answers were unusable (\`coevolve budget\` lists its calls)`;
}
