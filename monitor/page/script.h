// The script of a page: it asks for the parts of the page once a second while somebody looks, and
// swaps those that have changed; for the picture of the policy at play more often. Without it the
// page stands still.
#pragma once

#include <string_view>

namespace starling::monitor {

inline constexpr std::string_view kPageScript = R"(
'use strict';
const gone = document.getElementById('gone'), said = document.getElementById('said');

function swap(text) {
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  const idsOf = (page) => [...page.querySelectorAll('section[id]')].map((part) => part.id).join();
  if (idsOf(fresh) !== idsOf(document)) return location.reload();
  for (const part of fresh.querySelectorAll('section[id]')) {
    const old = document.getElementById(part.id);
    if (!('live' in old.dataset) && old.innerHTML !== part.innerHTML) {
      old.innerHTML = part.innerHTML;
    }
  }
  // The text that screen readers announce changes with the state only.
  const state = document.querySelector('.state')?.textContent ?? '';
  if (said.textContent !== state) said.textContent = state;
}

async function refresh() {
  try {
    const answer = await fetch('parts', {cache: 'no-store', signal: AbortSignal.timeout(5000)});
    if (answer.status === 401) location.reload();
    if (!answer.ok) throw new Error(answer.status);
    swap(await answer.text());
    gone.hidden = true;
  } catch (error) {
    gone.hidden = false;
  }
}

// The policy at play, eight times a second while it is open.
async function play() {
  const game = document.querySelector('#play details[open] .game');
  if (game !== null && !document.hidden) {
    try {
      const answer = await fetch('play', {cache: 'no-store', signal: AbortSignal.timeout(5000)});
      const {png, html} = await answer.json();
      const [picture, facts] = game.children;
      picture.hidden = png === '';
      if (png !== '') picture.src = 'data:image/png;base64,' + png;
      facts.innerHTML = html;
    } catch (error) {
      // refresh() says that the server is gone.
    }
  }
  setTimeout(play, 125);
}

async function watch() {
  if (!document.hidden) await refresh();
  setTimeout(watch, 1000);
}
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
watch();
play();
)";

}  // namespace starling::monitor
