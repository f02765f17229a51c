import { Idiomorph } from 'idiomorph';

/** Events that arrive together cause one update. */
const gatherMs = 300;

/**
 * Follows the events of a campaign, or of all, and puts the page's newest content in place of the shown one. Open parts
 * stay open, and the focus stays where it is. Numbers that no event announces are at most `seconds` old.
 *
 * @param stream address of the server-sent events
 */
export function followCampaigns(seconds: number, stream: string): void {
  let [wanted, isBusy] = [false, false];
  const update = async (): Promise<void> => {
    wanted = true;
    if (isBusy || document.hidden) return;
    isBusy = true;
    await pause(gatherMs);
    wanted = false;
    showState(await replaceContent());
    isBusy = false;
    if (wanted) void update();
  };
  const source = new EventSource(stream);
  source.addEventListener('message', () => void update());
  source.addEventListener('error', () => showState('lost'));
  source.addEventListener('open', () => void update());
  document.addEventListener('visibilitychange', () => void update());
  setInterval(() => void update(), seconds * 1000);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type State = 'live' | 'lost';

/** Loads this address again. An answer that is no page of it, such as a refusal, replaces nothing. */
async function replaceContent(): Promise<State> {
  try {
    const answer = await fetch(location.href, { redirect: 'error' });
    if (!answer.ok) return 'lost';
    const { body } = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of ['header', 'main']) {
      const [shown, newest] = [document.querySelector(part), body.querySelector(part)];
      if (shown && newest)
        await Idiomorph.morph(shown, newest, { callbacks: { beforeAttributeUpdated: (name) => name !== 'open' } });
    }
    return 'live';
  } catch {
    return 'lost';
  }
}

/** Says beside the content since when it is no longer the newest. */
function showState(state: State): void {
  const shown = document.querySelector('#lost');
  if (state === 'live') return shown?.remove();
  if (shown) return;
  const notice = document.createElement('p');
  notice.id = 'lost';
  notice.role = 'status';
  notice.textContent = `The server does not answer since ${new Date().toLocaleTimeString()}: this is what was known then.`;
  document.body.prepend(notice);
}
