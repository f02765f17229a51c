import { listModels } from '../artifacts/imported-models';
import { DomainError } from '../domain/errors';
import type { EvaluationRequest } from '../specification/evaluation-spec';
import { readStoredSpec } from '../specification/read-spec';
import type { CampaignRow } from '../store/campaign/campaigns';
import { chooseModel, isModelName, type Price } from './choose-model';
import type { Connections } from './connections';

/** The policy or model to play, and the campaign whose settings it is played with. */
export type ChosenPolicy = Pick<EvaluationRequest, 'policyId' | 'source' | 'model'> & { origin: string };

/**
 * `iteration`: the target that it trained, in place of the active one. `role`: another agent, or the base. `model`: plays in
 * place of a policy of the campaign, at this price.
 */
export type PolicyChoice = {
  iteration?: number | undefined;
  role?: string | undefined;
  model?: string | undefined;
  price?: Price | undefined;
};

/**
 * Finds a policy by the name of a campaign, the name of an imported model, or the beginning of a hash; or a language model as
 * `<provider>/<model>`.
 *
 * @throws DomainError `UnknownPolicy`; the errors of `chooseModel`
 */
export async function choosePolicy(
  { store, artifacts }: Connections,
  subject: string,
  choice: PolicyChoice,
): Promise<ChosenPolicy> {
  const campaigns = await store.campaigns.list();
  const campaign = campaigns.find(({ name }) => name === subject);
  if (campaign && choice.model !== undefined) return playedBy(campaign, choice.model, choice);
  if (campaign) return ofCampaign(store, campaign, choice);
  if (choice.iteration !== undefined || choice.role !== undefined)
    throw new DomainError('UnknownPolicy', `--iteration, --role: found ${subject}, expected a campaign's name`);
  if (choice.model !== undefined)
    throw new DomainError('UnknownPolicy', `--model: found ${subject}, expected a campaign's name`);
  if (isModelName(subject)) {
    const model = chooseModel(null, subject, choice.price ?? null);
    return { policyId: null, model, source: null, origin: `language model ${subject}` };
  }
  const model = (await listModels(artifacts)).find(({ name }) => name === subject);
  if (model) return { policyId: model.policyId, model: null, source: null, origin: `model ${model.name}` };
  if (/^[0-9a-f]{6,64}$/.test(subject))
    for (const owner of campaigns) {
      const found = (await store.policies.list(owner.id)).find(({ id }) => id.startsWith(subject));
      if (found) return chosen(owner, found.id, `${found.role} policy of iteration ${found.iteration}`);
    }
  throw new DomainError(
    'UnknownPolicy',
    `evaluate: found "${subject}", expected a campaign (\`coevolve list\`), an imported model (\`coevolve model list\`), a language model as <provider>/<model>, or at least 6 characters of a policy's hash`,
  );
}

function playedBy(campaign: CampaignRow, wanted: string, { iteration, role, price }: PolicyChoice): ChosenPolicy {
  if (iteration !== undefined || role !== undefined)
    throw new DomainError('UnknownPolicy', '--iteration, --role: found with --model, expected one of them alone');
  const source = readStoredSpec(campaign.spec);
  const model = chooseModel(source, wanted, price ?? null);
  return { policyId: null, model, source, origin: `${model.model} of ${model.provider} on ${campaign.name}` };
}

async function ofCampaign(
  { policies }: Connections['store'],
  campaign: CampaignRow,
  { iteration, role = 'target' }: PolicyChoice,
): Promise<ChosenPolicy> {
  const active = await policies.listActive(campaign.id);
  if (iteration === undefined) {
    const id = active[role as keyof typeof active];
    if (id) return chosen(campaign, id, `active ${role} policy`);
    throw new DomainError(
      'UnknownPolicy',
      `--role: found ${role}, expected ${Object.keys(active).sort().join(', ') || 'an agent'}: ${campaign.name} has no active policy of this role`,
    );
  }
  const trained = (await policies.list(campaign.id)).filter((policy) => policy.role === role);
  const found = trained.findLast((policy) => policy.iteration === iteration);
  if (found) return chosen(campaign, found.id, `${role} policy of iteration ${iteration}`);
  const iterations = [...new Set(trained.map((policy) => policy.iteration))].join(', ') || 'none';
  throw new DomainError(
    'UnknownPolicy',
    `--iteration: found ${iteration}, expected one that trained a ${role} policy: ${iterations}`,
  );
}

const chosen = (campaign: CampaignRow, policyId: string, what: string): ChosenPolicy => ({
  policyId,
  model: null,
  source: readStoredSpec(campaign.spec),
  origin: `${what} of ${campaign.name}`,
});
