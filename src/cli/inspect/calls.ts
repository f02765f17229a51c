import { Option, type Command } from 'commander';
import { withConnections } from '../../client/connections';
import type { ModelPurpose } from '../../domain/campaign/iteration-plan';
import { count, dateTime, dollars, duration, oneLine } from '../../domain/formats';
import { DomainError } from '../../domain/errors';
import { answerText, answerThinking, callVerdict, isUseless, type CallVerdict } from '../../llm/call-verdict';
import { findCall, listCalls, type StoredCall, type WholeCall } from '../../store/spending/list-calls';
import { number, properties, text, type Column } from '../../tables/table';
import { integerIn } from '../arguments/integer';
import { idWithin } from '../arguments/shown-ids';
import { addListOptions, firstRows, printPage, type ListOptions } from '../output/listing';
import { printResult } from '../output/output';

type Options = ListOptions & {
  iteration?: number;
  role?: ModelPurpose;
  verdict?: CallVerdict['verdict'];
  useless?: boolean;
  show?: string;
};

type CheckedCall<Call = StoredCall> = Call & CallVerdict;

const roles: readonly ModelPurpose[] = ['reflector', 'explorer', 'abstractor', 'judge', 'solver', 'embedding'];
const verdicts: readonly CallVerdict['verdict'][] = [
  'usable',
  'malformed',
  'no-action',
  'refused',
  'cut-off',
  'unchecked',
];

/** `coevolve calls <campaign>`: lists the answered calls of language models; `--show` prints one with its prompt. */
export function addCalls(program: Command): void {
  const command = program
    .command('calls <campaign>')
    .description("list the calls of language models: cost, answer, the parser's verdict; or print one whole")
    .option('--iteration <number>', 'only this iteration', integerIn(0, 32_767))
    .addOption(new Option('--role <role>', 'only the calls of this role').choices(roles))
    .addOption(new Option('--verdict <verdict>', 'only answers with this verdict').choices(verdicts))
    .option('--useless', 'only answers that could not be used')
    .option('--show <call>', 'print one call whole: prompt, thinking, answer, verdict');
  addListOptions(command, 'one JSON object per line').action((name: string, options: Options) =>
    withConnections(async ({ store, pool }) => {
      const { id } = await store.campaigns.getByName(name);
      const { iteration, role, verdict, useless, show, json } = options;
      if (show !== undefined) {
        const call = await findCall(pool, id, idWithin(name, show));
        if (!call)
          throw new DomainError('UnknownCall', `${name} has no call "${show}"; \`coevolve calls ${name}\` lists them`);
        return printResult(json, checked(call), () => callText(checked(call)));
      }
      const filter = { ...(iteration === undefined ? {} : { iteration }), ...(role ? { purpose: role } : {}) };
      const calls = (await listCalls(pool, id, filter))
        .map(checked)
        .filter((call) => (verdict ? call.verdict === verdict : true) && (useless ? isUseless(call) : true));
      printPage(firstRows(calls, options), 'calls', columns, json);
    }),
  );
}

const checked = <Call extends StoredCall>(call: Call): CheckedCall<Call> => ({ ...call, ...callVerdict(call) });

const columns: readonly Column<CheckedCall>[] = [
  text('call', ({ id }) => id),
  text('role', ({ purpose }) => purpose),
  ...properties('model'),
  number('tokens in', ({ promptTokens }) => promptTokens, count),
  number('out', ({ completionTokens }) => completionTokens, count),
  number('usd', ({ usd }) => dollars(usd, 4)),
  number('time', ({ seconds }) => seconds, duration),
  ...properties('verdict'),
  text('answer', ({ answer }) => oneLine(answerText(answer), 60) || null),
];

/** Formats a call with its messages, its thinking and its answer. */
export function callText(call: CheckedCall<WholeCall>): string {
  const { id, purpose, provider, model, prompt, promptTokens, completionTokens, usd, seconds, recordedAt } = call;
  const thinking = answerThinking(call.answer);
  const part = (title: string, content: string): string => `${title}:\n  ${content.replaceAll('\n', '\n  ')}`;
  return [
    [
      `${id}: ${purpose} by ${model} of ${provider}, prompt ${prompt}, ${dateTime(recordedAt.toISOString())}`,
      `${count(promptTokens)} tokens in, ${count(completionTokens)} out, ${dollars(usd, 4)}, ${duration(seconds)}`,
      `verdict of the parser: ${call.verdict}${call.problem === null ? '' : `: ${call.problem}`}`,
    ].join('\n'),
    ...(call.messages?.map(({ role, content }) => part(role, content)) ?? [
      purpose === 'embedding'
        ? 'an embedding has no messages'
        : 'the messages of this call are not stored: an earlier release made it',
    ]),
    ...(thinking === null ? [] : [part('thinking', thinking)]),
    part('answer', answerText(call.answer)),
  ].join('\n\n');
}
