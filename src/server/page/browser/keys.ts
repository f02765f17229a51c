/** What `j` and `k` go through: the rows of lists, the tasks to decide on and the places of attempts. */
const stops = 'main tbody th a, main input[type="checkbox"], main [tabindex="-1"]';

/** Keys of every page. An element with the attribute `accesskey` has a key of its own, with or without the browser's modifier. */
const actions: Readonly<Record<string, { name: string; act: (page: Document) => void }>> = {
  j: { name: 'next row', act: (page) => step(page, 1) },
  k: { name: 'row before', act: (page) => step(page, -1) },
  '/': {
    name: 'filters',
    act: (page) => page.querySelector<HTMLElement>('main input:not([type="hidden"]), main select')?.focus(),
  },
  '?': { name: 'keys', act: showKeys },
};

/** Adds the keys of a page; none acts while a text is written. */
export function addKeys(page: Document): void {
  page.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || isWritten(target as Element)) return;
    const element = /^[a-z]$/.test(key) ? page.querySelector<HTMLElement>(`[accesskey="${key}"]`) : null;
    if (element) use(element);
    else if (Object.hasOwn(actions, key)) actions[key]!.act(page);
    else return;
    event.preventDefault();
  });
}

const isWritten = (element: Element): boolean => element.matches('textarea, select, input:not([type="checkbox"])');

function use(element: HTMLElement): void {
  if (element.matches('a')) element.click();
  else element.focus();
}

function step(page: Document, by: 1 | -1): void {
  const isShown = (one: Element): boolean => one.closest('details:not(.part, [open])') === null;
  const all = [...page.querySelectorAll<HTMLElement>(stops)].filter(isShown);
  const at = all.indexOf(page.activeElement as HTMLElement);
  const next = at === -1 ? all.at(by === 1 ? 0 : -1) : all[at + by];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

/** Lists the keys of this page in a dialog, which the key Escape closes. */
function showKeys(page: Document): void {
  page.querySelector('dialog')?.remove();
  const elements = [...page.querySelectorAll<HTMLElement>('[accesskey]')];
  const named = elements.map((element): [string, string] => [element.accessKey, element.textContent.trim()]);
  const list = page.createElement('dl');
  for (const [term, meaning] of [
    ...named,
    ...Object.entries(actions).map(([key, { name }]): [string, string] => [key, name]),
  ]) {
    const [dt, dd] = [page.createElement('dt'), page.createElement('dd')];
    dt.textContent = term;
    dd.textContent = meaning;
    list.append(dt, dd);
  }
  const dialog = page.createElement('dialog');
  dialog.ariaLabel = 'Keys';
  dialog.append(list);
  page.body.append(dialog);
  dialog.showModal();
}
