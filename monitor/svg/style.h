// The style sheet of every page, with all colours for light and for dark ones.
#pragma once

#include <string_view>

namespace starling::monitor {

// The colours of groups are from Okabe and Ito's palette, which colour-blind readers can tell
// apart, darkened on light pages and lightened on dark ones.
inline constexpr std::string_view kPageStyle = R"(
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1c2024; --faint: #5b636c; --grid: #e3e6ea; --edge: #a9b0b8;
  --box: #f5f6f8; --good: #18703a; --bad: #b3261e;
  --c0: #0067ab; --c1: #cf5200; --c2: #00835f; --c3: #a8478f;
  --c4: #8a6a00; --c5: #4d4d4d; --c6: #3f9fd8; --c7: #7a4fd0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --text: #e4e7ea; --faint: #a0a8b0; --grid: #2c3238; --edge: #5d666f;
    --box: #1d2226; --good: #5fd08a; --bad: #ff8a80;
    --c0: #57b0f0; --c1: #ff9a57; --c2: #2fcf9f; --c3: #ee9ad6;
    --c4: #e8c440; --c5: #8e969e; --c6: #9fdcff; --c7: #b9a0ff;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 1180px; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: .95rem; font-weight: 600; margin: 1.1rem 0 .3rem; }
p { margin: .4rem 0; max-width: 75ch; }
.faint, figcaption { color: var(--faint); }
.notice { border-left: 4px solid var(--bad); background: var(--box); padding: .5rem .8rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .55rem; text-align: right; border-bottom: 1px solid var(--grid); }
th { font-weight: 600; color: var(--faint); white-space: nowrap; }
td.word, th.word { text-align: left; }
h1, li, figcaption { overflow-wrap: anywhere; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
.figures {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(460px, 100%), 1fr));
  gap: 1rem 1.5rem;
}
figure { margin: 0; }
figcaption { font-size: .9em; margin-bottom: .2rem; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--faint); font-size: 12px; font-family: system-ui, "DejaVu Sans", sans-serif; }
svg .mid { text-anchor: middle; }
svg .end { text-anchor: end; }
.grid { stroke: var(--grid); }
.axis { stroke: var(--edge); }
.g0 { --c: var(--c0); } .g1 { --c: var(--c1); } .g2 { --c: var(--c2); } .g3 { --c: var(--c3); }
.g4 { --c: var(--c4); } .g5 { --c: var(--c5); } .g6 { --c: var(--c6); } .g7 { --c: var(--c7); }
.line, .run, .open { fill: none; stroke: var(--c); stroke-linejoin: round; }
.line { stroke-width: 2.2; }
.line.d1 { stroke-dasharray: 9 4; }
.line.d2 { stroke-dasharray: 9 3 2 3; }
.run { stroke-width: 1; opacity: .38; }
.open { stroke-width: 1.4; stroke-dasharray: 1.5 3; }
.cross { fill: none; stroke: var(--c); stroke-width: 1.6; }
.band { fill: var(--c); opacity: .15; }
.whisker { stroke: var(--c); stroke-width: 1.3; opacity: .6; }
.dot, .bar { fill: var(--c); }
.bound { stroke: var(--bad); stroke-width: 2.5; }
summary { cursor: pointer; color: var(--faint); }
@media (max-width: 560px) {
  th, td { padding: .25rem .4rem; }
  th { white-space: normal; }
}
.empty {
  color: var(--faint); border: 1px dashed var(--edge); padding: 2rem 1rem; text-align: center;
}
.finished, .running { color: var(--good); }
.unfinished, .failed, .damaged, .not-begun { color: var(--bad); font-weight: 600; }
)";

}  // namespace starling::monitor
