/** How an action is written: bare, or in the ReAct form of ETO's conversations ("Thought: ...\nAction: ..."). */
export const actionForms = ['plain', 'react'] as const;
export type ActionForm = (typeof actionForms)[number];

/** The action in that form. A text that has an `Action:` line keeps its thought in ReAct form, and loses it in plain. */
export function formed(text: string, form: ActionForm): string {
  if (form === 'plain') return actionOf(text);
  return isReact(text) ? text : `Action: ${text}`;
}

/** The text after the last `Action:` that begins a line; without one the whole text. The environments read it alike. */
export const actionOf = (text: string): string => text.split(marks()).at(-1)!.trim();

const isReact = (text: string): boolean => marks().test(text);

const marks = (): RegExp => /^[ \t]*action[ \t]*:[ \t]*/gim;
