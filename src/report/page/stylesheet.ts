/**
 * The page's style: one column, cards for charts. All colours are variables, so that light, dark and print share the
 * markup. Marks of charts have a contrast of at least 3 to the background, text of at least 4.5 (WCAG 2.2, 1.4.3 and
 * 1.4.11). Sections are collapsed on a narrow screen and open on a wide one.
 */
export const stylesheet = `
:root {
  color-scheme: light dark;
  --page: #f6f5f2; --card: #ffffff; --ink: #22262b; --muted: #656c75; --rule: #e2e0da; --code: #f1efea;
  --target: #3f74b5; --failure: #b8742a; --positive: #3d9181; --incumbent: #7d848d; --neutral: #8b84b4;
  --hard: #a8453f; --forgetting: #7d6aae; --boundary: #3f8f86; --rare: #a87a2c;
  --good: #297447; --good-soft: #e0f0e5; --warn: #8f6110; --warn-soft: #f8ebcf; --bad: #a33a34; --bad-soft: #f8e1df;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #15181c; --card: #1d2126; --ink: #e4e6e9; --muted: #9aa3ad; --rule: #31373e; --code: #262b31;
    --target: #6fa3e0; --failure: #e0a458; --positive: #62b8a6; --incumbent: #7d858f; --neutral: #a29bd0;
    --hard: #d9746c; --forgetting: #a795d8; --boundary: #5db8ad; --rare: #d8ac5e;
    --good: #7fcb9a; --good-soft: #1d3527; --warn: #e3b96a; --warn-soft: #3a2f17; --bad: #eb938c; --bad-soft: #40211f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.55 system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; overflow-wrap: anywhere; -webkit-text-size-adjust: 100%; }
main, header, footer { max-width: 1080px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 44px; }
h1 { font-size: 34px; line-height: 1.15; margin: 2px 0 18px; letter-spacing: -0.02em; overflow-wrap: anywhere; }
h2 { font-size: 21px; letter-spacing: -0.01em; margin: 0 0 4px; }
main > h2 { margin-top: 30px; }
h3 { font-size: 15px; margin: 26px 0 8px; }
h4 { font-size: 15px; margin: 0 0 4px; }
p { margin: 0 0 10px; }
code, pre { font-family: ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace; }
code { font-size: 0.85em; color: var(--muted); overflow-wrap: anywhere; }
a { color: inherit; }
.kicker, .label { color: var(--muted); font-size: 12px; text-transform: uppercase; letter-spacing: 0.08em; margin: 0; }
.facts { display: flex; flex-wrap: wrap; gap: 12px 30px; margin: 0 0 24px; font-size: 14px; }
.facts dt { color: var(--muted); font-size: 12px; }
.facts dd { margin: 0; font-weight: 550; }
.outcome { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; padding: 22px 26px; display: grid; grid-template-columns: minmax(0, 1.35fr) minmax(0, 1fr); gap: 20px 34px; align-items: center; }
.outcome p { margin: 0 0 6px; }
.outcome .change { display: flex; align-items: baseline; gap: 0.3em; font-size: 44px; line-height: 1.2; letter-spacing: -0.03em; font-variant-numeric: tabular-nums; }
.change span { color: var(--muted); }
.change strong { color: var(--target); font-weight: 650; }
.change .arrow { font-size: 0.7em; }
.outcome .verdict { font-weight: 600; font-size: 16px; margin-top: 10px; }
.line { display: block; }
.checks { grid-column: 1 / -1; margin: 0; display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 6px 14px; font-size: 14px; }
.checks dd { margin: 0; }
nav { margin: 22px 0 0; font-size: 13.5px; }
nav ol { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 4px 18px; }
nav a { color: var(--muted); text-decoration: none; border-bottom: 1px solid var(--rule); }
nav a:hover { color: var(--ink); }
section { margin: 46px 0 0; padding-top: 26px; border-top: 1px solid var(--rule); min-width: 0; }
.part { margin: 0; }
.part > summary { margin: 0 0 4px; }
.part > summary h2 { display: inline; }
.lead { font-size: 16px; max-width: 70ch; }
.note { color: var(--muted); font-size: 13.5px; max-width: 80ch; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(290px, 100%), 1fr)); gap: 14px; margin: 14px 0 10px; }
.panels.four { grid-template-columns: repeat(auto-fill, minmax(min(215px, 100%), 1fr)); }
figure { margin: 0; background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 10px 10px 4px; break-inside: avoid; }
.outcome figure { border: 0; padding: 0; max-width: none !important; }
figcaption { font-size: 12.5px; font-weight: 600; padding: 0 2px 6px; }
.outcome figcaption { font-weight: 400; color: var(--muted); }
svg { display: block; overflow: visible; width: 100%; height: auto; font-variant-numeric: tabular-nums; }
.key { font-size: 13px; color: var(--muted); display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 0 0 8px; }
.key i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }
.scroll { overflow-x: auto; margin: 16px 0 0; }
table { border-collapse: collapse; width: 100%; overflow-wrap: normal; font-size: 13.5px; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0 0 6px; font-size: 13.5px; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--rule); text-align: right; vertical-align: top; font-weight: 400; }
th:last-child, td:last-child { padding-right: 2px; }
thead th { color: var(--muted); font-size: 12px; vertical-align: bottom; line-height: 1.3; }
.text { text-align: left; }
td.number { white-space: nowrap; }
tbody th, td code { white-space: nowrap; }
.badge { display: inline-block; border-radius: 20px; padding: 0 9px; font-size: 12px; line-height: 1.65; white-space: nowrap; background: var(--code); color: var(--muted); font-weight: 550; }
.badge.promote, .badge.success, .badge.finished, .badge.better, .badge.equivalent, .badge.yes { background: var(--good-soft); color: var(--good); }
.badge.keep, .badge.partial, .badge.paused, .badge.parked, .badge.inconclusive { background: var(--warn-soft); color: var(--warn); }
.badge.failed, .badge.aborted, .badge.worse, .badge.invalid, .badge.no { background: var(--bad-soft); color: var(--bad); }
.comparison { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 16px 18px 8px; margin: 14px 0; }
.goal { max-width: 80ch; }
.sides { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 18px; }
.side { min-width: 0; }
.player { font-size: 13.5px; font-weight: 600; display: flex; justify-content: space-between; flex-wrap: wrap; gap: 8px; margin-bottom: 6px; }
pre { font-size: 12.5px; line-height: 1.5; margin: 0 0 6px; padding: 8px 11px; border-radius: 7px; background: var(--code); white-space: pre-wrap; overflow-wrap: anywhere; }
pre.action { border-left: 3px solid var(--target); }
mark { color: inherit; background: color-mix(in srgb, var(--bad) var(--doubt), transparent); border-radius: 2px; }
.p1 { --doubt: 10%; } .p2 { --doubt: 20%; } .p3 { --doubt: 32%; } .p4 { --doubt: 45%; }
pre.observation { background: none; border: 1px solid var(--rule); color: var(--muted); }
.chain { list-style: none; margin: 12px 0 0; padding: 0; max-width: 86ch; }
.chain li { position: relative; padding: 0 0 14px 26px; }
.chain li::before { content: ''; position: absolute; left: 4px; top: 8px; width: 9px; height: 9px; border-radius: 50%; background: var(--target); }
.chain li:not(:last-child)::after { content: ''; position: absolute; left: 8px; top: 17px; bottom: -8px; width: 1px; background: var(--incumbent); }
.chain b { display: block; font-size: 12.5px; color: var(--muted); font-weight: 550; }
.words { display: grid; grid-template-columns: 200px minmax(0, 1fr); gap: 10px 24px; margin: 12px 0 20px; max-width: 92ch; }
.words dt { font-weight: 600; }
.words dd { margin: 0; color: var(--muted); }
details { margin: 16px 0 0; }
summary { cursor: pointer; font-weight: 600; font-size: 13.5px; }
details:not(.part) pre { margin-top: 8px; }
details:not(.part) .scroll { margin-top: 6px; }
details:not(.part) caption { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
.narrow { max-width: 420px; padding-top: 80px; }
.crumbs, .live { font-size: 14px; }
.live { margin: 0 0 18px; }
.problem { background: var(--bad-soft); color: var(--bad); border-radius: 8px; padding: 8px 12px; }
.problem p { margin: 0; }
form { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: end; margin: 12px 0; font-size: 13.5px; }
form label { max-width: 100%; }
input, select, textarea, button { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 4px 8px; max-width: 100%; }
dialog { color: var(--ink); background: var(--card); border: 1px solid var(--rule); border-radius: 10px; }
dialog dl { display: grid; grid-template-columns: max-content auto; gap: 4px 14px; margin: 0; }
dialog dt { font-family: ui-monospace, monospace; }
dialog dd { margin: 0; }
#lost { position: sticky; top: 0; margin: 0; padding: 6px 24px; background: var(--warn-soft); color: var(--warn); z-index: 1; }
:focus-visible { outline: 2px solid var(--target); outline-offset: 2px; }
footer { color: var(--muted); font-size: 12.5px; padding-top: 30px; padding-bottom: 50px; }
@media screen and (min-width: 761px) {
  .part::details-content { content-visibility: visible; display: block; height: auto; }
  @supports selector(::details-content) {
    .part > summary { list-style: none; pointer-events: none; }
    .part > summary::-webkit-details-marker { display: none; }
  }
}
@media (max-width: 760px) {
  main, header, footer { padding-left: 16px; padding-right: 16px; }
  header { padding-top: 26px; }
  h1 { font-size: 27px; }
  h2 { font-size: 18px; }
  nav { display: none; }
  section { margin: 0; padding: 0; }
  main { margin-top: 22px; }
  .part > summary { margin: 0; padding: 13px 0; }
  .part[open] { padding-bottom: 22px; }
  .facts { gap: 10px 24px; }
  .outcome { grid-template-columns: minmax(0, 1fr); padding: 16px; }
  .outcome .change { font-size: 36px; }
  .sides, .words { grid-template-columns: minmax(0, 1fr); }
  .words { gap: 2px; }
  .words dd { margin-bottom: 10px; }
  figure { max-width: none !important; }
}
@media print {
  :root { --page: #fff; --card: #fff; --code: #f4f3f0; color-scheme: light; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10.5pt; }
  nav { display: none; }
  .outcome { grid-template-columns: minmax(0, 1.35fr) minmax(0, 1fr); }
  .panels { grid-template-columns: repeat(3, 1fr); gap: 8px; }
  .sides { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .panels.four { grid-template-columns: repeat(4, 1fr); }
  section { margin-top: 24px; }
  h2, h3, h4, caption { break-after: avoid; }
  tr, pre, .chain li { break-inside: avoid; }
  .scroll { overflow: visible; }
  details::details-content { content-visibility: visible; display: block; height: auto; }
}
`;
