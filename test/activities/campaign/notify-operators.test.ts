import { closeCampaign } from '../../../src/activities/campaign/close-campaign';
import { recordOperatorCommand } from '../../../src/activities/campaign/record-operator-command';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { tasksNeedApproval } from '../../../src/domain/campaign/approval';
import type { ParkedCode } from '../../../src/domain/campaign/parked-reasons';
import { stepAfter } from '../../../src/domain/campaign/parked-hints';
import { listOverviews } from '../../../src/store/campaign/overviews';
import { webhookNotifier } from '../../../src/workers/notifier';
import { newCampaign, type NewCampaign } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { startScriptedServer, type ScriptedServer } from '../../support/scripted-server';
import { inActivity } from '../context/in-activity';

let database: FreshDatabase;
let webhook: ScriptedServer;
beforeAll(async () => {
  [database, webhook] = await Promise.all([freshDatabase(), startScriptedServer()]);
});
afterAll(() => Promise.all([database.drop(), webhook.stop()]));

type Setting = NewCampaign & { services: Dependencies; name: string };

async function setting(): Promise<Setting> {
  const campaign = await newCampaign(database.pool);
  webhook.answerWith({});
  const notify = webhookNotifier(`${webhook.url}/hook?key=secret`);
  const rest = { closeLeases: () => Promise.resolve(), writeReport: () => Promise.resolve() };
  const services = { store: campaign.store, notify, ...rest } as unknown as Dependencies;
  return { ...campaign, services, name: (await campaign.store.campaigns.get(campaign.campaignId)).name };
}

const park = (
  { campaignId, services }: Setting,
  entry: { reason: string; code?: ParkedCode; awaits?: string },
): Promise<void> =>
  inActivity(() =>
    recordOperatorCommand(services)({
      campaignId,
      status: 'parked',
      kind: 'parked',
      actor: 'coevolve',
      ...entry,
    }),
  );

test('a campaign that parks is reported with its reason, after its row has the status', async () => {
  const campaign = await setting();
  const entry = { reason: 'provider "main" does not answer', code: 'ModelError.unavailable' } as const;
  await park(campaign, { ...entry, awaits: 'http://main' });
  const next = `${stepAfter(entry.code, campaign.name)}. It continues by itself when http://main answers.`;
  expect(webhook.requests.map(({ body }) => body)).toEqual([
    {
      campaign: campaign.name,
      status: 'parked',
      waitsForApproval: false,
      code: 'ModelError.unavailable',
      reason: 'provider "main" does not answer',
      next,
      text: `campaign ${campaign.name} is parked: provider "main" does not answer. Next: ${next}`,
    },
  ]);
  expect(await campaign.store.campaigns.get(campaign.campaignId)).toMatchObject({ status: 'parked' });
  expect((await listOverviews(database.pool)).find(({ id }) => id === campaign.campaignId)).toMatchObject({
    parkedCode: 'ModelError.unavailable',
  });
});

test.each(['ApprovalNeeded', undefined] as const)(
  'a campaign that waits for approval is reported with the command that approves, with code %s',
  async (code) => {
    // A workflow of release 0.1.0 records no code.
    const campaign = await setting();
    await park(campaign, { reason: tasksNeedApproval(campaign.name, 1, 3), ...(code ? { code } : {}) });
    expect(webhook.requests[0]!.body).toMatchObject({
      waitsForApproval: true,
      code: 'ApprovalNeeded',
      text: expect.stringMatching(/waits for approval: .*coevolve approve/),
    });
  },
);

test('a campaign that continues by itself is reported, and its row has the status', async () => {
  const campaign = await setting();
  const { campaignId, services, name } = campaign;
  const reason = 'what the phase waited for answers again';
  const entry = { campaignId, status: 'running', kind: 'continued', actor: 'coevolve', reason } as const;
  await inActivity(() => recordOperatorCommand(services)(entry));
  expect(webhook.requests).toMatchObject([
    { body: { status: 'running', code: null, next: null, text: `campaign ${name} is running: ${reason}` } },
  ]);
  expect(await campaign.store.campaigns.get(campaignId)).toMatchObject({ status: 'running' });
});

test('a campaign that ends is reported once its report is written, and other commands are not reported', async () => {
  const campaign = await setting();
  const { campaignId, services } = campaign;
  const entry = { campaignId, status: 'paused', kind: 'paused', actor: 'ada', reason: null } as const;
  await inActivity(() => recordOperatorCommand(services)(entry));
  expect(webhook.requests).toEqual([]);
  await inActivity(() => closeCampaign(services)({ campaignId, status: 'finished' }));
  expect(webhook.requests.map(({ body }) => body)).toEqual([
    {
      campaign: campaign.name,
      status: 'finished',
      waitsForApproval: false,
      code: null,
      reason: null,
      next: null,
      text: `campaign ${campaign.name} is finished`,
    },
  ]);
});

test.each([{ status: 500 }, 'hang-up' as const])(
  'a webhook that answers with %j delays and fails nothing',
  async (answer) => {
    const campaign = await setting();
    webhook.answerWith(answer);
    await park(campaign, { reason: 'a reason' });
    expect(webhook.requests).toHaveLength(1);
  },
);
