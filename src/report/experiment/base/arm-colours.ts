import type { Experiment } from '../../../domain/experiment/experiment';

const palette = ['incumbent', 'target', 'failure', 'positive', 'hard', 'forgetting', 'boundary', 'rare', 'neutral'];

/** Returns the colour of each arm, in the order of the experiment. Above nine arms, colours repeat; the tables do not. */
export const armColours = ({ arms }: Pick<Experiment, 'arms'>): Map<string, string> =>
  new Map(arms.map(({ name }, i) => [name, `var(--${palette[i % palette.length]!})`]));
