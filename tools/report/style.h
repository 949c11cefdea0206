// The style sheet of a report, with all colours for light and for dark pages.
#pragma once

#include <string_view>

namespace starling::report {

// The colours of groups are from Okabe and Ito's palette, which colour-blind readers can tell
// apart, darkened on light pages and lightened on dark ones.
inline constexpr std::string_view kReportStyle = R"(
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1c2024; --faint: #5b636c; --grid: #e3e6ea; --edge: #a9b0b8;
  --box: #f5f6f8; --good: #18703a; --bad: #b3261e;
  --c0: #0067ab; --c1: #cf5200; --c2: #00835f; --c3: #a8478f;
  --c4: #8a6a00; --c5: #4d4d4d; --c6: #3f9fd8; --c7: #7a4fd0;
  --h0: #f1f5fa; --h1: #dbe7f4; --h2: #bdd5ec; --h3: #96bde1; --h4: #5f9bcf; --h5: #2a73b2;
  --h6: #0b4a85; --on-strong: #ffffff; --on-weak: #1c2024;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --text: #e4e7ea; --faint: #a0a8b0; --grid: #2c3238; --edge: #5d666f;
    --box: #1d2226; --good: #5fd08a; --bad: #ff8a80;
    --c0: #57b0f0; --c1: #ff9a57; --c2: #2fcf9f; --c3: #ee9ad6;
    --c4: #e8c440; --c5: #8e969e; --c6: #9fdcff; --c7: #b9a0ff;
    --h0: #1a222b; --h1: #1c3247; --h2: #1f4566; --h3: #245c8a; --h4: #4f8dc2; --h5: #86b7e2;
    --h6: #c3def5; --on-strong: #10151a; --on-weak: #e4e7ea;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 1180px; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
h1.part {
  font-size: 1.35rem; margin: 3.5rem 0 .3rem; padding-top: .8rem;
  border-top: 3px solid var(--edge);
}
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
td.label { text-align: left; white-space: nowrap; }
td.key { text-align: left; min-width: 22ch; max-width: 60ch; }
h1, li, figcaption, td.key, td.long { overflow-wrap: anywhere; }
td.long { text-align: left; min-width: 22ch; color: var(--faint); font-size: .88em; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
.finished, .running { color: var(--good); }
.unfinished, .failed, .damaged, .not-begun { color: var(--bad); font-weight: 600; }
.figures {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(460px, 100%), 1fr));
  gap: 1rem 1.5rem;
}
.multiples {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr));
  gap: .8rem 1.2rem;
}
.tiny {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(146px, 1fr)); gap: .6rem .8rem;
}
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 1rem; }
figure { margin: 0; }
figcaption { font-size: .9em; margin-bottom: .2rem; }
.legend {
  margin: .3rem 0 .6rem; padding: 0; list-style: none; display: flex; flex-wrap: wrap;
  gap: .15rem 1.3rem;
}
.chip { width: 26px; height: 10px; vertical-align: 1px; margin-right: .4em; }
svg { width: 100%; height: auto; display: block; }
svg.chip { display: inline-block; }
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
.multiples .band { opacity: .09; }
.dot, .bar { fill: var(--c); }
.tiny figcaption { font-size: .78em; }
.notes { margin: 1rem 0 2rem; }
.notes ul { margin: .4rem 0; padding-left: 1.3rem; max-width: 75ch; }
summary { cursor: pointer; color: var(--faint); }
table.heat { border-collapse: separate; border-spacing: 2px; font-size: 13px; margin: .2rem 0; }
.heat th { padding: .1rem .3rem; border: 0; font-size: .92em; }
.heat td, .heat th[scope=col], .heat th[colspan] { text-align: center; }
.heat td { min-width: 2.9rem; padding: .3rem .2rem; border: 0; }
@media (max-width: 560px) {
  th, td { padding: .25rem .4rem; }
  th { white-space: normal; }
  td.label { white-space: normal; min-width: 16ch; }
  table.heat { width: 100%; font-size: 11px; border-spacing: 1px; }
  .heat th { padding: .1rem; font-size: .9em; overflow-wrap: anywhere; white-space: normal; }
  .heat td { min-width: 0; padding: .3rem .05rem; }
}
.heat small { display: block; font-size: .82em; line-height: 1.2; }
.heat .none {
  background: repeating-linear-gradient(135deg, var(--grid) 0 1px, transparent 1px 6px);
}
.heat .never { color: var(--bad); outline: 1px dashed var(--edge); outline-offset: -1px; }
.h0 { background: var(--h0); } .h1 { background: var(--h1); } .h2 { background: var(--h2); }
.h3 { background: var(--h3); } .h4 { background: var(--h4); } .h5 { background: var(--h5); }
.h6 { background: var(--h6); }
.h0, .h1, .h2, .h3 { color: var(--on-weak); }
.h4, .h5, .h6 { color: var(--on-strong); }
.scale { color: var(--faint); font-size: .85em; margin: .1rem 0 .6rem; }
.scale i { display: inline-block; width: 1.4em; height: .8em; vertical-align: -1px; }
.empty {
  color: var(--faint); border: 1px dashed var(--edge); padding: 2rem 1rem; text-align: center;
}
)";

}  // namespace starling::report
