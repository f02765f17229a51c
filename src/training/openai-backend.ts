import type { FineTuningJob } from 'openai/resources/fine-tuning';
import type { ArtifactStore } from '../artifacts/artifact-store';
import { saveServedPolicy } from '../artifacts/served-policy';
import { DomainError } from '../domain/errors';
import type { Providers } from '../llm/providers';
import { withJobFolder } from './job-folder';
import { providerJobs, type ProviderJobs } from './provider-jobs';
import { prepareRequest, record, recorded, unsupported, type Asked } from './provider-request';
import { curveOf, failureOf, isLive } from './provider-status';
import type { TrainingBackend, TrainingStatus } from './training-backend';

const logEvents = 50;

/**
 * The fine-tuning service of the provider that serves the base policy, behind OpenAI's protocol. The policy that comes
 * back is a manifest which names the fine-tuned model. Killed at any moment, a submit that is made again finds the file
 * by its name, which is its hash, and the job by its metadata.
 */
export function openaiBackend(providers: Providers, artifacts: ArtifactStore): TrainingBackend {
  const jobsOf = servicesOf(providers);

  /** The job as the provider has it; a lost id is found by the name. */
  async function lookUp(jobKey: string): Promise<Found | undefined> {
    const asked = await recorded(artifacts.jobPath(jobKey));
    if (!asked) return undefined;
    const jobs = jobsOf(asked.provider);
    const job = asked.jobId ? await jobs.retrieve(asked.jobId) : (await jobs.named(asked.name))[0];
    return job && { asked, jobs, job };
  }

  return {
    name: 'openai',

    async submit(job) {
      const folder = artifacts.jobPath(job.jobKey);
      await withJobFolder(folder, async () => {
        const { state } = await this.status(job.jobKey);
        if (state === 'running' || state === 'succeeded') return;
        const { asked, file, lines } = await prepareRequest(artifacts, job);
        const jobs = jobsOf(asked.provider);
        await record(folder, asked);
        const found = (await jobs.named(asked.name)).find((one) => isLive(one) || one.status === 'succeeded');
        const { id } =
          found ??
          (await jobs.create(asked.name, { ...asked.request, training_file: await jobs.keepFile(file, lines) }));
        await record(folder, { ...asked, jobId: id });
      });
    },

    submitStep: (jobKey) => Promise.reject(unsupported(`${jobKey} learns in steps`)),

    async status(jobKey) {
      const found = await lookUp(jobKey);
      return found ? toStatus(artifacts, found) : { state: 'absent' };
    },

    async curve(jobKey, after) {
      const found = await lookUp(jobKey);
      return found ? curveOf(await found.jobs.events(found.job.id)).filter(({ step }) => step! > after) : [];
    },

    async cancel(jobKey) {
      const found = await lookUp(jobKey);
      if (!found || !isLive(found.job)) return;
      await record(artifacts.jobPath(jobKey), { ...found.asked, jobId: found.job.id, cancelled: true });
      await found.jobs.cancel(found.job.id);
    },

    async logs(jobKey) {
      const found = await lookUp(jobKey);
      const events = found ? await found.jobs.events(found.job.id) : [];
      const newest = events.slice(-logEvents).map(({ message }) => message);
      return newest.join('\n');
    },
  };
}

type Found = { asked: Asked; jobs: ProviderJobs; job: FineTuningJob };

function servicesOf(providers: Providers): (name: string) => ProviderJobs {
  const services = new Map([...providers].map(([name, provider]) => [name, providerJobs(provider)]));
  return (name) => {
    const jobs = services.get(name);
    if (jobs) return jobs;
    const problem = `the provider "${name}" is not in the file of COEVOLVE_LLM_PROVIDERS`;
    const next = 'add it, run `coevolve up` again, then `coevolve resume` the campaign';
    throw new DomainError('UnknownProvider', `${problem}: ${next}`);
  };
}

async function toStatus(artifacts: ArtifactStore, { asked, jobs, job }: Found): Promise<TrainingStatus> {
  if (isLive(job)) {
    const progress = curveOf(await jobs.events(job.id)).at(-1) ?? {};
    const { step = 0, total_steps: totalSteps = 0 } = progress;
    return { state: 'running', step, totalSteps, policies: [], progress };
  }
  if (job.status === 'cancelled' && asked.cancelled) return { state: 'absent' };
  if (job.status !== 'succeeded' || !job.fine_tuned_model) return { state: 'failed', failure: failureOf(job) };
  const policyHash = await saveServedPolicy(artifacts, {
    ...{ format: 1, files: [], served_by: { provider: asked.provider, model: job.fine_tuned_model } },
    ...{ ...asked.facts, provider_job: job.id },
  });
  return {
    ...{ state: 'succeeded', policyHash, policyPath: artifacts.policyPath(policyHash) },
    ...{ tokens: job.trained_tokens ?? 0, seconds: Math.max(0, (job.finished_at ?? job.created_at) - job.created_at) },
    ...{ policies: [], trainerState: null },
  };
}
