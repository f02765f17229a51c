import { DomainError } from '../../domain/errors';
import { startPolicy } from '../../domain/experiment/starts';
import { resolveSpec } from '../../specification/read-spec';
import { withStoredLimits } from '../../specification/recipe-defaults';
import { contentHash, differingParts } from '../../store/audit/content-hash';
import { hasEnded } from '../../store/campaign/campaigns';
import { countDifferingScores } from '../../store/experiment/scores';
import { followCampaign, type FollowCallbacks } from '../follow-campaign';
import type { Connections } from '../connections';
import { startCampaign } from '../start-campaign';

export type RerunCell = { campaign: string; rerun: string; expected: string };
export type CheckedRerun = RerunCell & {
  found: string;
  /** The content hashes are equal, and so are all scores. */
  equal: boolean;
  /** Scores of the cell in the long table that differ from the rerun's; an imported table need not belong to its hash. */
  differingScores: number;
  /** Parts of the content hash that differ. Is null if the manifest of the cell has no parts. */
  differing: string[] | null;
  /** Both began with the same policy, which was trained anew. */
  equalStart: boolean;
};

/**
 * Plays a finished cell again as a campaign of its own, from the spec of its manifest, and trains all of its policies
 * again. Repeated while the rerun has not ended, it joins it.
 *
 * @param campaign the campaign of the cell, `<experiment>-<arm>-s<seed>`
 * @throws DomainError `UnknownCell`, `CellNotFinished`, and the errors of `startCampaign`
 */
export async function rerunCell(connections: Connections, campaign: string): Promise<RerunCell> {
  const cell = await connections.store.experimentCells.findByCampaign(campaign);
  if (!cell)
    throw new DomainError(
      'UnknownCell',
      `no experiment has played the cell "${campaign}", expected <experiment>-<arm>-s<seed>; see \`coevolve experiment status <name>\``,
    );
  if (!cell.manifest || !cell.contentHash)
    throw new DomainError(
      'CellNotFinished',
      `${campaign} is ${cell.status}, expected finished: only a finished cell has a manifest; see \`coevolve status ${campaign}\``,
    );
  const rerun = await nextName(connections, campaign);
  const { compute, ...spec } = cell.manifest.spec;
  const played = { ...spec, name: rerun, compute: { ...(compute as object | undefined), reuse: false } };
  await startCampaign(connections, resolveSpec(withStoredLimits(played), rerun));
  return { campaign, rerun, expected: cell.contentHash };
}

/** Waits for the end of a rerun and compares its content hash and its scores with the cell. */
export async function checkRerun(
  connections: Connections,
  rerun: RerunCell,
  callbacks: FollowCallbacks,
): Promise<CheckedRerun> {
  await followCampaign(connections, rerun.rerun, callbacks);
  const { id } = await connections.store.campaigns.getByName(rerun.rerun);
  const { hash, parts } = await contentHash(connections.pool, id);
  const cell = (await connections.store.experimentCells.findByCampaign(rerun.campaign))!;
  const differingScores = await countDifferingScores(connections.pool, cell, id);
  const start = startPolicy({ policies: await connections.store.policies.list(id) });
  return {
    ...rerun,
    found: hash,
    equal: hash === rerun.expected && differingScores === 0,
    differingScores,
    differing: cell.manifest?.parts ? differingParts(parts, cell.manifest.parts) : null,
    equalStart: start === startPolicy(cell.manifest),
  };
}

async function nextName({ store }: Connections, campaign: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = `${campaign}-rerun-${number}`;
    const row = await store.campaigns.find(name);
    if (!row || !hasEnded(row.status)) return name;
  }
}
