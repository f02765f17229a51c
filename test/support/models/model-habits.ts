import { requestKind } from './sql-explorer';
import type { ModelAnswer, ModelRequest, Rule } from './scripted-model';

/** Changes the text answers to chats; other answers are kept. */
const changing =
  (change: (text: string, request: ModelRequest) => ModelAnswer) =>
  (rule: Rule): Rule =>
  async (request) => {
    const answer = await rule(request);
    return request.kind === 'chat' && typeof answer === 'string' ? change(answer, request) : answer;
  };

/** JSON and an action that no answer means: a reader that does not separate the thinking would use them. */
const musings = 'Perhaps {"candidates": []}, or <action>submit</action>?';

const marked = (text: string, request: ModelRequest): string =>
  requestKind(request) === 'exploration' ? `I look closer.\n<action>${text}</action>` : text;

/** Thinks in tags before every answer, and writes a sentence before every action. */
export const thinkingInline = changing((text, request) => `<think>\n${musings}\n</think>\n\n${marked(text, request)}`);

/** Returns its thinking apart from the answer, as `reasoning_content`. */
export const thinkingApart = changing((text, request) => ({ text: marked(text, request), thinking: musings }));

/** Is cut off in the first answer to every request for which `isCut`, or also in the second one; in its thinking or in its answer. */
export const cutOff = ({ at, twice = false, isCut = () => true }: CutOff) => {
  const isSecondOf = ({ id }: ModelRequest): boolean => id!.includes('/shorten/');
  const cutting = changing((text, request) => {
    const isSecond = isSecondOf(request);
    if (!isCut(request) || (isSecond && !twice)) return text;
    return { text: at === 'thinking' ? `<think>${text}` : text.slice(0, text.length / 2), finishReason: 'length' };
  });
  return (rule: Rule): Rule =>
    cutting((request) => rule(isSecondOf(request) ? { ...request, messages: request.messages.slice(0, -2) } : request));
};

type CutOff = { at: 'thinking' | 'answer'; twice?: boolean; isCut?: (request: ModelRequest) => boolean };

/** Refuses a temperature and a seed, as the reasoning models of OpenAI do. */
export const refusingTemperature =
  (rule: Rule): Rule =>
  (request) => {
    const param = ['temperature', 'seed'].find((key) => key in request.body);
    if (!param || request.kind !== 'chat') return rule(request);
    return { status: 400, message: `Unsupported parameter: '${param}' is not supported with this model.`, param };
  };

/** Answers in JSON if the request has a schema, and otherwise in prose. */
export const answeringBySchema = changing((text, { body }) => {
  const format = body['response_format'] as { json_schema?: { schema?: { required?: string[] } } } | undefined;
  const required = format?.json_schema?.schema?.required;
  if (!required) return body['response_format'] ? text : text.replaceAll(/[{}]/g, ' ');
  const given = JSON.parse(/\{[^]*\}/.exec(text)![0]) as Record<string, unknown>;
  return JSON.stringify(Object.fromEntries(required.map((key) => [key, given[key]])));
});
