// Writes deploy/observability/board.json, a board for Grafana, from the panels below.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Title, unit of Grafana, expression, legend. */
export const panels = [
  ['Campaigns by state', 'short', 'sum by (state) (coevolve_campaign_state)', '{{state}}'],
  ['Waiting', 's', 'coevolve_campaign_waiting_seconds', '{{campaign}} {{state}} {{code}}'],
  ['Iteration', 'short', 'coevolve_campaign_iteration', '{{campaign}}'],
  ['Time of the phase', 's', 'coevolve_campaign_phase_seconds', '{{campaign}} {{phase}}'],
  ['Success on held-out tasks', 'percentunit', 'coevolve_heldout_success{role="target"}', '{{campaign}} {{set}}'],
  ['Attempts per minute', 'short', '60 * deriv(coevolve_attempts[5m])', '{{campaign}} {{purpose}} {{outcome}}'],
  ['Loss', 'short', 'coevolve_training_loss', '{{campaign}} {{role}} {{method}}'],
  ['Norm of the gradient', 'short', 'coevolve_training_grad_norm', '{{campaign}} {{role}}'],
  ['Tokens per second', 'short', 'coevolve_training_tokens_per_s', '{{campaign}} {{role}}'],
  ['Time without an update', 's', 'coevolve_training_idle_seconds', '{{campaign}} {{role}}'],
  ['Budget', 'percentunit', 'coevolve_budget_committed / coevolve_budget_limit', '{{campaign}} {{unit}}'],
  ['Waiting tasks', 'short', 'coevolve_task_queue_backlog', '{{queue}} {{type}}'],
  ['Workers', 'short', 'coevolve_task_queue_pollers', '{{queue}} {{type}}'],
  ['Free space for artifacts', 'bytes', 'coevolve_artifacts_free_bytes', 'free'],
  ['Broken invariants', 'short', 'coevolve_invariant_violations', '{{campaign}} {{kind}}'],
];

const [columns, width, height] = [3, 8, 7]; // of the grid's 24 columns

const datasource = { type: 'prometheus', uid: '${datasource}' };

const panel = ([title, unit, expr, legendFormat], index) => ({
  id: index + 1,
  type: 'timeseries',
  title,
  datasource,
  gridPos: { x: (index % columns) * width, y: Math.floor(index / columns) * height, w: width, h: height },
  fieldConfig: { defaults: { unit }, overrides: [] },
  targets: [{ refId: 'A', datasource, expr, legendFormat }],
});

export const board = () =>
  `${JSON.stringify(
    {
      title: 'coevolve',
      uid: 'coevolve',
      schemaVersion: 39,
      refresh: '30s',
      time: { from: 'now-6h', to: 'now' },
      templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
      panels: panels.map(panel),
    },
    null,
    2,
  )}\n`;

const target = fileURLToPath(new URL('../deploy/observability/board.json', import.meta.url));
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(target, board());
