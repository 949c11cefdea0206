// What the style sheet of a report has beyond that of every page (monitor/svg/style.h).
#pragma once

#include <string_view>

namespace starling::report {

inline constexpr std::string_view kReportStyle = R"(
:root {
  --h0: #f1f5fa; --h1: #dbe7f4; --h2: #bdd5ec; --h3: #96bde1; --h4: #5f9bcf; --h5: #2a73b2;
  --h6: #0b4a85; --on-strong: #ffffff; --on-weak: #1c2024;
}
@media (prefers-color-scheme: dark) {
  :root {
    --h0: #1a222b; --h1: #1c3247; --h2: #1f4566; --h3: #245c8a; --h4: #4f8dc2; --h5: #86b7e2;
    --h6: #c3def5; --on-strong: #10151a; --on-weak: #e4e7ea;
  }
}
h1.part {
  font-size: 1.35rem; margin: 3.5rem 0 .3rem; padding-top: .8rem;
  border-top: 3px solid var(--edge);
}
td.label { text-align: left; white-space: nowrap; }
td.key { text-align: left; min-width: 22ch; max-width: 60ch; }
td.key, td.long { overflow-wrap: anywhere; }
td.long { text-align: left; min-width: 22ch; color: var(--faint); font-size: .88em; }
.multiples {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr));
  gap: .8rem 1.2rem;
}
.tiny {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(146px, 1fr)); gap: .6rem .8rem;
}
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 1rem; }
.legend {
  margin: .3rem 0 .6rem; padding: 0; list-style: none; display: flex; flex-wrap: wrap;
  gap: .15rem 1.3rem;
}
.chip { width: 26px; height: 10px; vertical-align: 1px; margin-right: .4em; }
svg.chip { display: inline-block; }
.multiples .band { opacity: .09; }
.tiny figcaption { font-size: .78em; }
.notes { margin: 1rem 0 2rem; }
.notes ul { margin: .4rem 0; padding-left: 1.3rem; max-width: 75ch; }
table.heat { border-collapse: separate; border-spacing: 2px; font-size: 13px; margin: .2rem 0; }
.heat th { padding: .1rem .3rem; border: 0; font-size: .92em; }
.heat td, .heat th[scope=col], .heat th[colspan] { text-align: center; }
.heat td { min-width: 2.9rem; padding: .3rem .2rem; border: 0; }
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
@media (max-width: 560px) {
  td.label { white-space: normal; min-width: 16ch; }
  table.heat { width: 100%; font-size: 11px; border-spacing: 1px; }
  .heat th { padding: .1rem; font-size: .9em; overflow-wrap: anywhere; white-space: normal; }
  .heat td { min-width: 0; padding: .3rem .05rem; }
}
)";

}  // namespace starling::report
