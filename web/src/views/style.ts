/** Style of the viewer's panels; the page brings colours and the rest. */

export const STYLE = `
:root[data-theme="light"] { color-scheme: light; --bg: #ffffff; --fg: #1b1f24; --faint: #5a6270; --line: #d5d9df; --card: #f6f7f9;
  --ok: #0f6f60; --bad: #7a1fa2; --caution: #8a4b00; --caution-bg: #fff4dc; }
:root[data-theme="dark"] { color-scheme: dark; --bg: #11151b; --fg: #e6eaf0; --faint: #9aa4b2; --line: #2a313b; --card: #191f27;
  --ok: #3fe8c4; --bad: #d08bff; --caution: #ffc76b; --caution-bg: #33280f; }
#view { --focus: #1a5fb4; position: relative; margin: 14px 0; }
:root[data-theme="dark"] #view { --focus: #7fb2ff; }
.v-bar { position: sticky; top: 0; z-index: 5; display: flex; flex-wrap: wrap; align-items: center; gap: 6px; min-height: 44px;
  padding: 6px 0; background: var(--bg); border-bottom: 1px solid var(--line); }
.v-bar h2 { flex: 1 1 80px; min-width: 0; margin: 0; font-size: 1rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.v-group { display: inline-flex; gap: 2px; align-items: center; }
#view button, #view select, #view input[type="text"], .v-finding { font: inherit; font-size: 13px; color: var(--fg); background: var(--card);
  border: 1px solid var(--line); border-radius: 4px; min-height: 28px; min-width: 28px; padding: 2px 8px; }
#view input[type="text"] { width: 9em; }
#view button { cursor: pointer; }
#view button:hover, .v-finding:hover { border-color: var(--faint); }
#view button[aria-pressed="false"] { color: var(--faint); background: var(--bg); text-decoration: line-through; }
#view button[data-on][aria-pressed="true"]::before { content: ""; display: inline-block; width: 9px; height: 9px; margin-right: 6px; background: var(--mark); border-radius: 50%; }
#view button[data-on="write"]::before { border-radius: 0 !important; clip-path: polygon(50% 0, 100% 100%, 0 100%); }
#view button[data-on="pushed"]::before { border-radius: 0 !important; transform: rotate(45deg) scale(0.8); }
#view :focus-visible, .v-finding:focus-visible { outline: 3px solid var(--focus); outline-offset: 1px; }
.v-status { position: absolute; left: 0; top: 100%; max-width: 100%; padding: 4px 12px; font-size: 13px; color: var(--fg); background: var(--card); border: 1px solid var(--line); }
.v-status:empty { display: none; }
.v-alert { background: var(--caution-bg); color: var(--caution); padding: 8px 14px; margin: 8px 0; overflow-wrap: anywhere; }
.v-panel { margin: 0 0 6px; break-inside: avoid; }
.v-panel[hidden] { display: none; }
.v-head { display: flex; flex-wrap: wrap; align-items: center; gap: 2px 12px; min-height: 26px; padding-top: 4px; }
.v-head h3 { margin: 0; font-size: 13px; font-weight: 600; }
.v-head .v-note { color: var(--caution); font-size: 12px; }
.v-read { margin-left: auto; color: var(--faint); font-size: 12px; font-variant-numeric: tabular-nums; text-align: right; }
.v-row { display: flex; align-items: flex-start; }
.v-plot { position: relative; flex: 1 1 0; min-width: 0; touch-action: pan-y; cursor: crosshair; }
.v-plot canvas, .v-side canvas { display: block; width: 100%; }
.v-plot .v-over { position: absolute; inset: 0; pointer-events: none; }
.v-side { flex: 0 0 208px; min-width: 0; }
.v-legend { display: block; width: 330px; height: 18px; max-width: 100%; }
.v-grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(360px, 1fr)); gap: 10px 22px; margin-top: 14px; }
@media (min-width: 1280px) { .v-grid { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
.v-panel details { border: 0; padding: 0; font-size: 12px; color: var(--faint); }
.v-row + details { position: relative; margin-top: -24px; }
.v-row + details > summary { width: 60px; }
.v-panel summary { padding: 2px 0; font-weight: 400; min-height: 24px; }
.v-panel details table { color: var(--fg); }
.v-card { position: sticky; bottom: 0; z-index: 4; background: var(--card); border: 1px solid var(--line); border-left: 6px solid var(--focus);
  padding: 8px 14px; margin: 8px 0; overflow-wrap: anywhere; }
.v-card p { margin: 0 0 6px; white-space: pre-line; }
.v-brush { font-size: 13px; margin: 6px 0; }
.v-finding { display: block; width: 100%; text-align: left; padding: 4px 10px; cursor: pointer; }
.v-finding[aria-current="true"] { border-color: var(--fg); box-shadow: inset 4px 0 var(--fg); }
.v-drop { outline: 4px dashed var(--faint); outline-offset: -8px; }
.v-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media screen and (max-width: 900px) { .v-row { flex-direction: column; align-items: stretch; } .v-side { flex: none; width: 100%; } .v-row + details { margin-top: 0; }
  .v-print .v-row { flex-direction: row; } .v-print .v-side { flex: 0 0 208px; } .v-grid { grid-template-columns: minmax(0, 1fr); } }
@media print {
  .v-bar, .v-status, .v-over, #view button { display: none !important; }
  #view { width: 180mm; }
  .v-grid { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
`;
