import { defineSearchAttributeKey, TypedSearchAttributes, type SearchAttributePair } from '@temporalio/common';
import type { CampaignState } from '../../domain/campaign/progress';
import type { ExperimentState } from '../../domain/experiment/progress';

const keys = {
  CampaignName: defineSearchAttributeKey('CampaignName', 'KEYWORD'),
  Recipe: defineSearchAttributeKey('Recipe', 'KEYWORD'),
  EnvironmentName: defineSearchAttributeKey('EnvironmentName', 'KEYWORD'),
  Phase: defineSearchAttributeKey('Phase', 'KEYWORD'),
  Outcome: defineSearchAttributeKey('Outcome', 'KEYWORD'),
  Iteration: defineSearchAttributeKey('Iteration', 'INT'),
  BestScore: defineSearchAttributeKey('BestScore', 'DOUBLE'),
  NeedsAttention: defineSearchAttributeKey('NeedsAttention', 'BOOL'),
};

/** Columns of the workflow list in the Temporal UI, for campaigns and their child workflows. */
export const searchAttributes = {
  of(
    { name, recipe, environment }: Pick<CampaignState, 'name' | 'recipe' | 'environment'>,
    { Iteration }: { Iteration: number },
  ): TypedSearchAttributes {
    return new TypedSearchAttributes([
      { key: keys.CampaignName, value: name },
      { key: keys.Recipe, value: recipe },
      { key: keys.EnvironmentName, value: environment },
      { key: keys.Iteration, value: Iteration },
    ]);
  },

  ofState({ name, recipe, environment, status, progress, scores }: CampaignState): SearchAttributePair[] {
    const best = Math.max(progress.score ?? 0, ...scores.map(({ score }) => score));
    return [
      { key: keys.CampaignName, value: name },
      { key: keys.Recipe, value: recipe },
      { key: keys.EnvironmentName, value: environment },
      { key: keys.Phase, value: progress.phase },
      { key: keys.Iteration, value: progress.iteration },
      { key: keys.Outcome, value: status },
      { key: keys.NeedsAttention, value: status === 'parked' },
      ...(progress.score === null && scores.length === 0 ? [] : [{ key: keys.BestScore, value: best }]),
    ];
  },

  /** The campaigns of its cells have names that begin with the experiment's. */
  ofExperiment: ({ status, closed }: ExperimentState): SearchAttributePair[] => [
    { key: keys.Outcome, value: status },
    { key: keys.NeedsAttention, value: closed.some((cell) => cell.status === 'missing') },
  ],

  phase: (phase: string): SearchAttributePair[] => [{ key: keys.Phase, value: phase }],
};
