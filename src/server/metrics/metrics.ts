import type { Pool } from 'pg';
import { Gauge, Registry } from 'prom-client';
import type { QueueState } from '../../temporal/task-queues';
import { gaugeGroups, type GaugeGroup } from './gauges';
import type { CountedViolations } from './violations';

export type MetricsSources = {
  /** Reads the views of the read model. */
  reader: Pool;
  /** Asks Temporal for the task queues of all workers. */
  queues: () => Promise<readonly QueueState[]>;
  /** Free bytes of the disk with the artifacts. */
  freeBytes: () => Promise<number>;
  violations: () => CountedViolations | null;
};

/**
 * Returns the text of a scrape in Prometheus' format. Every value is read anew, so ended jobs and campaigns disappear, and two
 * servers give equal numbers. A source that fails leaves its gauges out and is 0 in `coevolve_source_up`.
 */
export async function scrape({ reader, queues, freeBytes, violations }: MetricsSources): Promise<string> {
  const registry = new Registry();
  const add = adder(registry);
  const sources: Record<string, () => Promise<void>> = {
    database: async () => {
      for (const group of gaugeGroups) await addGroup(add, reader, group);
      addViolations(add, violations());
    },
    temporal: async () => addQueues(add, await queues()),
    artifacts: async () =>
      add('artifacts_free_bytes', 'free bytes of the disk with the artifacts', {}, await freeBytes()),
  };
  for (const [source, read] of Object.entries(sources)) {
    const isUp = await read().then(
      () => 1,
      () => 0,
    );
    add('source_up', '1 if the source answered this scrape: database, temporal or artifacts', { source }, isUp);
  }
  return registry.metrics();
}

type Add = (name: string, help: string, labels: Record<string, string>, value: number) => void;

const adder =
  (registry: Registry): Add =>
  (name, help, labels, value) => {
    const full = `coevolve_${name}`;
    const known = registry.getSingleMetric(full) as Gauge | undefined;
    const gauge = known ?? new Gauge({ name: full, help, labelNames: Object.keys(labels), registers: [registry] });
    gauge.set(labels, value);
  };

async function addGroup(add: Add, reader: Pool, { labels: names, gauges, rows: query }: GaugeGroup): Promise<void> {
  const { rows } = await reader.query<Record<string, string | number | null>>(query);
  for (const row of rows) {
    const labels = Object.fromEntries(names.map((name) => [name, String(row[name] ?? '')]));
    for (const [name, help] of Object.entries(gauges))
      if (row[name] != null) add(name, help, labels, Number(row[name]));
  }
}

function addViolations(add: Add, counted: CountedViolations | null): void {
  if (!counted) return;
  add('invariants_counted_timestamp_seconds', 'time of the last count', {}, counted.at.getTime() / 1000);
  for (const { campaign, counts } of counted.campaigns)
    for (const [kind, count] of Object.entries(counts))
      add('invariant_violations', 'rows that break an invariant; must be 0', { campaign, kind }, count);
}

function addQueues(add: Add, states: readonly QueueState[]): void {
  for (const { queue, type, pollers, backlog, backlogAge } of states) {
    const labels = { queue, type };
    add('task_queue_pollers', 'workers that poll the queue', labels, pollers.length);
    add('task_queue_backlog', 'tasks that no worker has taken, approximately', labels, backlog);
    add('task_queue_backlog_age_seconds', 'age of the oldest of them', labels, backlogAge);
  }
}
