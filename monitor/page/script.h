// The script of a page: it asks for the parts of the page once a second while somebody looks, and
// swaps those that have changed. Nothing else on the page needs it.
#pragma once

#include <string_view>

namespace starling::monitor {

inline constexpr std::string_view kPageScript = R"(
'use strict';
const gone = document.getElementById('gone');

function swap(text) {
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  for (const part of fresh.querySelectorAll('section[id]')) {
    const old = document.getElementById(part.id);
    if (old === null) {
      document.querySelector('main').append(part);
    } else if (old.innerHTML !== part.innerHTML) {
      old.innerHTML = part.innerHTML;
    }
  }
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

async function watch() {
  if (!document.hidden) await refresh();
  setTimeout(watch, 1000);
}
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
watch();
)";

}  // namespace starling::monitor
