import type { z } from 'zod';
import type { CampaignSpec } from '../spec/campaign-spec';
import type { EmbeddingRequest, Question, Reply, Structured } from './question';

export type { EmbeddingRequest, Question, Reply, Structured } from './question';

/** The language models of a campaign, behind its budget and their providers' pace. */
export type ModelService = {
  /** @throws DomainError `BudgetReached`, `UnknownProvider`, `StaleEpoch`; ModelError; the signal's reason */
  ask(spec: CampaignSpec, question: Question): Promise<Reply>;
  /**
   * One JSON object in the reply, in fences or prose if the model wants them, checked by `schema`. An answer of another
   * shape is repaired once, by a second call `<callId>/repair` that quotes what was wrong; else a typed failure.
   */
  askFor<T>(spec: CampaignSpec, question: Question, schema: z.ZodType<T>): Promise<Structured<T>>;
  /** Unit vectors [texts][dimension]; null when the spec names no embedding model. Batches are stored calls `<callId>/<batch>`. */
  embed(spec: CampaignSpec, request: EmbeddingRequest): Promise<number[][] | null>;
};
