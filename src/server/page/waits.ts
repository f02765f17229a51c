import type { CampaignNow } from '../../client/campaign-status';
import { noticesOf } from '../../client/held-work';
import { campaignCommands } from '../../domain/campaign/operator-commands';
import { causeHint, nextCommands, ordersAfter, selfEnding } from '../../domain/campaign/parked-hints';
import { parkedCode } from '../../domain/campaign/parked-reasons';
import { dateTime } from '../../domain/formats';
import { withCode } from '../../report/page/blocks';
import { html, type Html } from '../../tables/html';
import { addressWith, campaignCrumb } from './frame';

/** The reason of a wait and the steps that end it, as in `coevolve status`, with links to the orders that help. */
export function waits(now: CampaignNow, mayOperate: boolean): Html | null {
  const { problem, progress, status, waitsFor, waitsSince, pausedWork, failingWork } = now;
  const since = waitsSince ? ` since ${dateTime(waitsSince.toISOString())}` : '';
  const isParked = progress.parked !== null && status === 'parked';
  const lines = [
    ...[...(problem ? [problem] : []), ...noticesOf([...pausedWork, ...failingWork])].map(
      ({ what, next }) => `${what}; ${next}`,
    ),
    ...(isParked
      ? [
          `parked${since} by ${parkedCode(progress)}: ${progress.parked}`,
          `Remedy: ${causeHint(now)}. ${nextCommands(now)} ${selfEnding(progress) ?? ''}`,
        ]
      : []),
    ...(status === 'paused' && waitsFor !== null ? [`${waitsFor}${since}`] : []),
  ];
  if (lines.length === 0) return null;
  return html`<div role="status" class="problem">
    ${lines.map((line) => html`<p>${withCode(line)}</p>`)} ${isParked && mayOperate ? orderLinks(now) : null}
  </div>`;
}

function orderLinks(now: CampaignNow): Html {
  const { href } = campaignCrumb(now.name);
  const links = ordersAfter(now).map((kind) => {
    if (kind === 'approve') return html`<a href="${href}/approvals">approve or reject</a>`;
    const isCommand = kind in campaignCommands;
    return html`<a href="${isCommand ? addressWith(`${href}/order`, { kind }) : `${href}/order#${kind}`}">${kind}</a>`;
  });
  return html`<p>On this page: ${links.map((link, i) => (i === 0 ? link : [' · ', link]))}</p>`;
}
