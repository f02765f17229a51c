import type { Pool } from 'pg';
import { fullCampaign, ids } from '../store/support/campaign-rows';
import { attempt, step, type NewCampaign } from '../store/support/new-campaign';

/** The attempts at the held-out task: one solves it with thinking, one is ended by a fault. */
export const heldOut = {
  solved: `1/evaluation/${ids.trained.slice(0, 12)}/held/0`,
  faulty: `1/evaluation/${ids.trained.slice(0, 12)}/held/1`,
};

/** Stores a campaign with a row in every table, and two attempts of its last policy at the held-out task. */
export async function evaluatedCampaign(pool: Pool): Promise<NewCampaign> {
  const campaign = await fullCampaign(pool);
  const played = { purpose: 'evaluation', policyId: ids.trained, taskId: 'held' } as const;
  const thought = { ...step('<think>Count them.</think>select 1'), bareAction: 'select 1' };
  const opening = [
    { role: 'system', content: 'Write one query.' },
    { role: 'functions', content: '[{"name":"run","parameters":{}}]' },
    { role: 'user', content: 'How many?' },
  ];
  await campaign.store.trajectories.save(
    attempt(campaign.key, { ...played, opening, turns: [thought, step('submit')] }),
  );
  const fault = { outcome: 'policy-fault', reward: null, rawScore: null, fault: 'no answer' } as const;
  await campaign.store.trajectories.save(
    attempt(campaign.key, { ...played, ...fault, attempt: 1, opening: [], turns: [] }),
  );
  return campaign;
}
