import { Idiomorph } from 'idiomorph';

/** Events that arrive together cause one update. */
const gatherMs = 300;

/**
 * Follows the events of a campaign, or of all, and puts the page's newest content in place of the shown one. Open parts
 * stay open, and the focus stays where it is. `seconds` of the newest answer is the time after which it is old; an answer
 * without it will not change.
 *
 * @param stream address of the server-sent events
 */
export function followCampaigns(seconds: number, stream: string): void {
  let [wanted, isBusy] = [false, false];
  const update = async (): Promise<void> => {
    wanted = true;
    if (isBusy || document.hidden) return;
    isBusy = true;
    clearTimeout(timer);
    await pause(gatherMs);
    wanted = false;
    const lasts = await replaceContent();
    showState(lasts === 'lost' ? 'lost' : 'live');
    isBusy = false;
    if (lasts === 'for ever') return source.close();
    timer = updateAfter(lasts === 'lost' ? seconds : lasts);
    if (wanted) void update();
  };
  const updateAfter = (lasts: number) => setTimeout(() => void update(), lasts * 1000);
  let timer = updateAfter(seconds);
  const source = new EventSource(stream);
  source.addEventListener('message', () => void update());
  source.addEventListener('error', () => showState('lost'));
  source.addEventListener('open', () => void update());
  document.addEventListener('visibilitychange', () => void update());
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Loads this address again, and returns for how many seconds its content lasts. An answer that is no page of it, such as
 * a refusal, replaces nothing.
 */
async function replaceContent(): Promise<number | 'for ever' | 'lost'> {
  try {
    const answer = await fetch(location.href, { redirect: 'error' });
    if (!answer.ok) return 'lost';
    const loaded = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of ['header', 'main']) {
      const [shown, newest] = [document.querySelector(part), loaded.querySelector(part)];
      if (shown && newest)
        await Idiomorph.morph(shown, newest, { callbacks: { beforeAttributeUpdated: (name) => name !== 'open' } });
    }
    const lasts = loaded.querySelector<HTMLScriptElement>('script[data-seconds]')?.dataset['seconds'];
    return lasts === undefined ? 'for ever' : Number(lasts);
  } catch {
    return 'lost';
  }
}

/** Says beside the content since when it is no longer the newest. */
function showState(state: 'live' | 'lost'): void {
  const shown = document.querySelector('#lost');
  if (state === 'live') return shown?.remove();
  if (shown) return;
  const notice = document.createElement('p');
  notice.id = 'lost';
  notice.role = 'status';
  notice.textContent = `The server does not answer since ${new Date().toLocaleTimeString()}: this is what was known then.`;
  document.body.prepend(notice);
}
