// What the style sheet of the page of a run has beyond that of every page (monitor/svg/style.h).
#pragma once

#include <string_view>

namespace starling::monitor {

inline constexpr std::string_view kRunStyle = R"(
body { padding-top: 1rem; }
section { margin: 0 0 1.1rem; }
h2 { margin: 0 0 .2rem; font-size: 1rem; }
.state { font-weight: 600; }
.good { color: var(--good); }
.poor { color: var(--bad); font-weight: 600; }
.sentence { overflow-wrap: anywhere; max-width: none; }
progress { width: 100%; height: .7rem; accent-color: var(--c0); }
.pair {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(340px, 100%), 1fr));
  gap: 1rem 1.6rem; align-items: start;
}
pre {
  background: var(--box); padding: .6rem .8rem; overflow-x: auto; font-size: .8rem; margin: 0;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
.game {
  display: flex; flex-wrap: wrap; gap: .6rem 1.4rem; align-items: flex-start; margin: .5rem 0;
}
.game > div { flex: 1 1 16rem; min-width: 0; }
.game img { width: 250px; height: auto; image-rendering: pixelated; }
.odds { margin: 0 0 .4rem; }
.odds th, .odds td { padding: .1rem .5rem; border: 0; }
.odds meter { width: 9rem; height: .8rem; vertical-align: middle; }
.taken { color: var(--text); text-decoration: underline; }
#play summary { font-weight: 600; color: var(--text); }
a { color: var(--c0); }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
#staleness figure { max-width: 26rem; }
#actors th, #actors td { padding: .28rem .4rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
#gone { margin: 0 0 1rem; }
@media (max-width: 560px) { .wide table { font-size: .85rem; } }
)";

}  // namespace starling::monitor
