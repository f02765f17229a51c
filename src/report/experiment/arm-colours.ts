const palette = ['incumbent', 'target', 'failure', 'positive', 'hard', 'forgetting', 'boundary', 'rare', 'neutral'];

/** Returns the colour of each arm, in their order. Above nine arms, colours repeat; the tables do not. */
export const armColours = ({ arms }: { arms: readonly { name: string }[] }): Map<string, string> =>
  new Map(arms.map(({ name }, i) => [name, `var(--${palette[i % palette.length]!})`]));
