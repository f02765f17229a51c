import type { CaseWorld } from './prompt-case';

/** The gold paths end with the move that completes the task. */
export const scienceworldCases: CaseWorld = {
  name: 'scienceworld',
  options: { types: ['find-plant', 'find-living-thing'], first: 1 },
  draw: { count: 2, seed: 1 },
  isUnread: ({ observation }) => /^(?:No known|Unknown) action/.test(observation.at(-1)?.content ?? ''),
  cases: [
    {
      name: 'scienceworld-plant',
      aim: 'boundary',
      task: 'scienceworld/find-plant/0000',
      attempts: [
        { kind: 'partial', actions: (reference) => reference.slice(0, -1) },
        { kind: 'mistake', actions: (reference) => reference.filter((action) => !action.startsWith('focus on')) },
        { kind: 'right', actions: (reference) => ['look around', ...reference] },
      ],
    },
    {
      name: 'scienceworld-living-thing',
      aim: 'forgetting',
      task: 'scienceworld/find-living-thing/0000',
      attempts: [
        { kind: 'partial', actions: (reference) => reference.slice(0, -1) },
        {
          kind: 'other-request',
          actions: ['open door to kitchen', 'go to kitchen', 'focus on fridge', 'look around'],
        },
        { kind: 'right', actions: (reference) => ['inventory', ...reference] },
      ],
    },
  ],
};
