/** What a candidate was synthesized for, as its id says (`candidateTaskId`); an id of another make is for no signal. */
export const aimOfTask = (taskId: string): string => /^synthesized\/\d+\/([^/]+)\//.exec(taskId)?.[1] ?? 'random';
