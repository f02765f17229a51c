import { z } from '@hono/zod-openapi';
import { campaignCommands, type CampaignCommandName } from '../../domain/campaign/operator-commands';

const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'the name of a campaign');
const amount = z.number().positive().optional();

const common = {
  campaign: name,
  reason: z.string().trim().min(1).max(1000).openapi({ description: 'For the log of events.' }),
  request_id: z
    .string()
    .regex(/^[\w.:-]{1,100}$/, '1 to 100 letters, digits, points, colons and dashes')
    .openapi({ description: 'Chosen by the client. A repeated request with the same id and body is the same order.' }),
  actor: z
    .string()
    // Without flags, which a pattern of the document cannot have.
    .regex(/^[^\u0000-\u001f\u007f-\u009f]{1,100}$/, 'a name of at most 100 characters') // oxlint-disable-line no-control-regex
    .optional()
    .openapi({ description: "Name of the operator for the log of events. Default: the server's user." }),
};

const changes = z
  .array(z.string().regex(/^[^=]{1,200}=[\s\S]{0,10000}$/, '<key>=<value>, as in training.dpo.beta=0.2'))
  .max(100)
  .default([]);
const commands = Object.keys(campaignCommands) as [CampaignCommandName, ...CampaignCommandName[]];

/** An order, as its client sends it. */
export const OrderBody = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.enum(commands), ...common }),
    z.strictObject({
      kind: z.literal('approve'),
      ...common,
      reject: z.array(z.string().max(500)).max(10_000).default([]).openapi({ description: 'Ids of tasks to reject.' }),
      keep: z.boolean().default(false).openapi({ description: 'Whether to keep the active policy.' }),
    }),
    z.strictObject({
      kind: z.literal('raise-budget'),
      ...common,
      tokens: amount.openapi({ description: 'Tokens of language models to add.' }),
      usd: amount.openapi({ description: 'US dollars to add.' }),
    }),
    z.strictObject({
      kind: z.literal('start'),
      ...common,
      spec: z
        .union([z.string().max(262_144), z.record(z.string(), z.unknown())])
        .openapi({ description: 'The spec as YAML or as an object; its name is that of the campaign.' }),
      set: changes.openapi({ description: 'Changes of the spec, such as rollouts.attempts=8.' }),
    }),
    z.strictObject({
      kind: z.literal('fork'),
      ...common,
      source: name.openapi({ description: 'Campaign to continue from; `campaign` is the name of the fork.' }),
      from_iteration: z.number().int().min(0).max(9999).openapi({ description: 'Last iteration to copy.' }),
      set: changes.openapi({ description: 'Changes of the spec, such as training.dpo.beta=0.2.' }),
    }),
  ])
  .openapi('OrderBody');

export type OrderBody = z.infer<typeof OrderBody>;
