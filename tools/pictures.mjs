// Visits every page of a running stack, which has played the quickstart, in a real browser: no serious finding of axe, nothing
// wider than the screen, no error of the console, in both themes at 1280 and 360 px; a form reaches the server. Writes the
// pictures of docs/pictures/.
// Usage: npm run pictures [-- --check]. Needs Chromium: CHROMIUM=<path>, by default chromium on PATH.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('..', import.meta.url));
const axe = readFileSync(path.join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');
const home = process.env.COEVOLVE_HOME ?? path.join(homedir(), '.coevolve');
const token = readFileSync(path.join(home, 'secrets/api-operate-token'), 'utf8').trim();
const { ports } = JSON.parse(readFileSync(path.join(home, 'stack.json'), 'utf8'));
const [server, temporal] = [ports.api, ports['temporal-ui']].map((port) => `http://127.0.0.1:${port}`);
const isCheck = process.argv.includes('--check');
const problems = [];

const executablePath = process.env.CHROMIUM ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const campaign = await firstLink('/', 'tr:has(.badge.finished) th a');
  const pages = {
    campaigns: '/',
    campaign,
    attempts: `${campaign}/attempts`,
    attempt: await firstLink(`${campaign}/attempts?purpose=train`, 'tbody th a'),
    flips: `${campaign}/flips`,
    divergence: await firstLink(`${campaign}/flips`, 'tbody th a'),
    search: `${campaign}/search?text=select`,
    approvals: `${campaign}/approvals`,
    order: `${campaign}/order`,
    experiments: '/e',
  };
  for (const [name, address] of Object.entries(pages))
    for (const colorScheme of ['light', 'dark'])
      for (const width of [1280, 360]) await check(name, address, { colorScheme, width });
  await sendForm(`${campaign}/order`);
  if (!isCheck) {
    await picture('campaign', server + campaign);
    await picture('divergence', server + pages.divergence);
    const workflow = `/namespaces/coevolve/workflows/campaign%2F${path.basename(campaign)}`;
    await picture('temporal-ui', temporal + workflow, { tab: 'User Metadata', until: 'Page and report', height: 1100 });
  }
} finally {
  await browser.close();
}
process.stderr.write(problems.map((problem) => `${problem}\n`).join(''));
process.exitCode = problems.length > 0 ? 1 : 0;

async function open(address, { colorScheme = 'light', width = 1280, height = 800 } = {}) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height } });
  await context.addCookies([{ name: 'coevolve_token', value: token, url: server }]);
  const page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && problems.push(`${address}: ${message.text()}`));
  await page.goto(address, { waitUntil: 'load' });
  return page;
}

async function firstLink(address, selector) {
  const page = await open(server + address);
  return page.locator(selector).first().getAttribute('href');
}

async function check(name, address, view) {
  const page = await open(server + address, view);
  const at = `${name}, ${view.colorScheme}, ${view.width} px`;
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (excess > 0) problems.push(`${at}: ${excess} px wider than the screen`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  for (const { id, impact, nodes } of violations)
    if (['serious', 'critical'].includes(impact))
      problems.push(`${at}: ${id} at ${nodes[0].target.join(' ')} and ${nodes.length - 1} more`);
  await page.context().close();
}

/** Sends an order to a campaign that has ended: it is refused for that alone. No test without a browser sees its headers. */
async function sendForm(address) {
  const page = await open(server + address);
  page.removeAllListeners('console'); // Chromium logs the status 404 as an error
  await page.getByLabel('Reason').first().fill('check of the page');
  await page.getByRole('button', { name: 'Send' }).first().click();
  const refusal = await page.getByRole('alert').first().textContent();
  if (!refusal.includes('has ended') && !refusal.includes('finished')) problems.push(`${address}: ${refusal}`);
  await page.context().close();
}

/** `tab`: name of the link that is followed first. `until`: text in a frame that the picture waits for. */
async function picture(name, address, { tab, until, height } = {}) {
  const page = await open(address, { height });
  if (tab) await page.getByText(tab).first().click();
  if (until) await page.frameLocator('iframe').getByText(until).first().waitFor();
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: path.join(root, 'docs/pictures', `${name}.png`) });
  await page.context().close();
}
