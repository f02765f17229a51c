import type { CaseWorld } from './prompt-case';

const python = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const deleteNote = (title: string): string =>
  python(
    `note = next(note for note in notes if note["title"] == "${title}")\n` +
      'apis.simple_note.delete_note(note_id=note["note_id"], access_token=token)',
  );
const complete = (answer = ''): string => python(`apis.supervisor.complete_task(${answer})`);
const look = python('print([note["title"] for note in notes])');

/** The first reference action logs in and reads the notes; the last one ends the task. */
export const appworldMiniCases: CaseWorld = {
  name: 'appworld-mini',
  options: {},
  draw: { count: 6, seed: 1 },
  isUnread: ({ observation }) => /^No code was found|SyntaxError/.test(observation.at(-1)?.content ?? ''),
  cases: [
    {
      name: 'appworld-delete',
      aim: 'boundary',
      task: 'Delete my note "Choir dates" in Simple Note.',
      attempts: [
        { kind: 'partial', actions: ([logIn]) => [logIn!, look, complete()] },
        { kind: 'other-request', actions: ([logIn]) => [logIn!, deleteNote('Packing list'), complete()] },
        { kind: 'extra', actions: ([logIn, ...rest]) => [logIn!, deleteNote('Packing list'), ...rest] },
        { kind: 'right', actions: ([logIn, ...rest]) => [logIn!, look, ...rest] },
      ],
    },
    {
      name: 'appworld-count',
      aim: 'rare',
      task: 'How many of my notes in Simple Note have the tag "garden"?',
      attempts: [
        { kind: 'mistake', actions: ([logIn]) => [logIn!, python('print(len(notes))'), complete('answer=len(notes)')] },
        { kind: 'limit', actions: ([logIn, count]) => [logIn!, count!, complete('answer=4')] },
        { kind: 'partial', actions: ([logIn, count]) => [logIn!, count!, complete()] },
        {
          kind: 'extra',
          actions: ([logIn, count, end]) => [logIn!, count!, deleteNote('Packing list'), end!],
        },
        { kind: 'right', actions: ([logIn, count, end]) => [logIn!, look, count!, end!] },
      ],
    },
  ],
};
