import { existsSync } from 'node:fs';
import { logFile } from '../../process/processes';
import { workerRoles } from '../../stack';
import type { CampaignRow } from '../../store/campaign/campaigns';
import { backends } from '../../training/backends';
import type { LogsHint } from '../../training/contract/backend-module';
import type { Connections } from '../connections';

/**
 * Finds the logs that are elsewhere: of workers that `up` did not start here, of jobs without a folder here, and of jobs in
 * a cluster. A job that has done nothing has no log: its policy was imported or found, or its campaign was aborted before it
 * could begin.
 */
export async function findMissingLogs(
  { config, pool, artifacts }: Connections,
  { id, name, forkIteration }: Pick<CampaignRow, 'id' | 'name' | 'forkIteration'>,
): Promise<LogsHint[]> {
  const { rows } = await pool.query<{ jobKey: string; backend: string }>(
    `select id as "jobKey", backend from reporting.training_runs r
     where campaign_id = $1::integer and iteration > $2::integer and method <> 'import' and found_from is null
       and (status = 'succeeded' or failure ->> 'type' <> 'ended'
         or exists (select from reporting.training_curves p where p.campaign_id = r.campaign_id and p.training_run = r.id))
     order by iteration desc, id`,
    [id, forkIteration ?? -1],
  );
  const elsewhere = rows.filter(({ jobKey }) => !existsSync(artifacts.jobPath(jobKey)));
  const hints = Object.entries(backends).map(([own, { logsHint }]) => {
    const job = rows.find(({ backend }) => backend === own);
    return job ? logsHint(job.jobKey) : null;
  });
  return [
    ...missingWorkers(config.home, name),
    ...(elsewhere.length > 0
      ? [
          {
            what: `${elsewhere.length} of ${rows.length} training jobs have no folder in ${config.artifacts}, such as ${elsewhere[0]!.jobKey}`,
            next: `coevolve logs ${name}, on a machine with the artifacts, or with COEVOLVE_ARTIFACTS`,
          },
        ]
      : []),
    ...hints.filter((hint) => hint !== null),
  ];
}

/** Workers of containers and other machines log to their stderr. */
function missingWorkers(home: string, name: string): LogsHint[] {
  const missing = workerRoles.filter((role) => !existsSync(logFile(home, `worker-${role}`)));
  if (missing.length === 0) return [];
  return [
    {
      what: `${home}/logs has no log of the workers ${missing.join(', ')}: those that \`coevolve up\` did not start here log to their stderr`,
      next: `coevolve logs ${name}, on their machine; of containers: docker compose logs worker-${missing[0]}`,
    },
  ];
}
