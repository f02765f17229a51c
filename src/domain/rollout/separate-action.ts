import { actionOf } from './action-form';
import { withoutThinking } from './thinking';

const [start, end] = ['<action>', '</action>'];

/** An answer with one code block, and the text around it. */
const oneFence = /^((?:(?!```)[^])*)(```(?:(?!```)[^])*```)((?:(?!```)[^])*)$/;

/**
 * Separates the action in a model's answer from the thinking before it: in the tags of the prompts, else after
 * the last `Action:` that begins a line, else the only code block, else the whole answer. An answer that ends within
 * `<think>` has no action.
 */
export function separateAction(answer: string): { thinking: string; action: string } {
  const text = withoutThinking(answer);
  const thought = answer.slice(0, text === '' ? answer.length : answer.lastIndexOf(text));
  const { before, action } = markedAction(text);
  return {
    thinking: [thought, before]
      .map((part) => part.trim())
      .filter(Boolean)
      .join('\n'),
    action: action.trim(),
  };
}

function markedAction(text: string): { before: string; action: string } {
  const at = text.lastIndexOf(start);
  if (at >= 0) return { before: text.slice(0, at), action: text.slice(at + start.length).split(end)[0]! };
  const named = actionOf(text);
  if (named !== text.trim()) return { before: text.slice(0, text.lastIndexOf(named)), action: named };
  const [, before = '', fence = text] = oneFence.exec(text) ?? [];
  return { before, action: fence };
}
