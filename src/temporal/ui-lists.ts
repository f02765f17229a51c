import type { TemporalConfig } from '../config';

/** Queries of Temporal's Web UI for lists of campaigns. A continued run is not listed: its campaign has a newer one. */
const queries = {
  running: '`WorkflowType`="campaign" AND `ExecutionStatus`="Running"',
  'needs attention': '`WorkflowType`="campaign" AND `NeedsAttention`=true AND `ExecutionStatus`="Running"',
  ended: '`WorkflowType`="campaign" AND `ExecutionStatus`!="Running" AND `ExecutionStatus`!="ContinuedAsNew"',
  'recipe combined': '`WorkflowType`="campaign" AND `Recipe`="combined" AND `ExecutionStatus`!="ContinuedAsNew"',
} as const;

export type UiList = { name: keyof typeof queries; url: string };

/** Returns the pages of Temporal's Web UI with lists of campaigns; none without a known address of the UI. */
export const campaignLists = ({ uiUrl, namespace }: Pick<TemporalConfig, 'uiUrl' | 'namespace'>): UiList[] =>
  uiUrl === undefined
    ? []
    : (Object.keys(queries) as (keyof typeof queries)[]).map((name) => ({
        name,
        url: `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows?query=${encodeURIComponent(queries[name])}`,
      }));
