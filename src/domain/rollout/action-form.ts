/** Form of an action: plain, or the ReAct form of ETO's conversations ("Thought: ...\nAction: ..."). */
export const actionForms = ['plain', 'react'] as const;
export type ActionForm = (typeof actionForms)[number];

/** Returns the action in this form. A text with an `Action:` line keeps its thought in ReAct form, and loses it in plain form. */
export function formatAction(text: string, form: ActionForm): string {
  if (form === 'plain') return actionOf(text);
  return isReact(text) ? text : `Action: ${text}`;
}

/** Returns the text after the last `Action:` that begins a line, otherwise the whole text. The environments parse it alike. */
export const actionOf = (text: string): string => text.split(actionMark()).at(-1)!.trim();

const isReact = (text: string): boolean => actionMark().test(text);

const actionMark = (): RegExp => /^[ \t]*action[ \t]*:[ \t]*/gim;
