// The script and the style of the page of updates: it shows the update that is chosen, and marks
// its place in every drawing.
#pragma once

#include <string_view>

namespace starling::replay {

inline constexpr std::string_view kTimelineStyle = R"(
.chooser {
  position: sticky; top: 0; background: var(--page); padding: .6rem 0; z-index: 1;
  border-bottom: 1px solid var(--grid);
}
.chooser p { max-width: none; }
.chooser input { width: 9em; }
#gradients { max-height: 30vh; overflow-y: auto; }
button, input {
  font: inherit; color: inherit; background: var(--box); border: 1px solid var(--edge);
  border-radius: 4px; padding: .15rem .5rem;
}
button { cursor: pointer; }
tr.chosen td { background: var(--box); font-weight: 600; }
#near tr { cursor: pointer; }
.mark { stroke: var(--bad); stroke-width: 1.5; pointer-events: none; }
svg[data-low] { cursor: crosshair; }
)";

inline constexpr std::string_view kTimelineScript = R"(
'use strict';
// An update: [version, steps, lr, scale, gradients, mean return of its episodes or null].
// A gradient: [actor, life, sequence, base, samples, weight, norm, policy loss, value loss,
// entropy]. Without a replay the last three are left out.
const updates = JSON.parse(document.getElementById('data').textContent);
const field = document.getElementById('version');
const kNeighbours = 8;
let chosen = 0, naming = 0;

const known = (value) => value === null || value === undefined ? '–' : String(value);
const largest = (gradients, of) => gradients.reduce((most, one) => {
  const value = of(one);
  return value === null || value === undefined || (most !== null && value <= most) ? most : value;
}, null);

function row(values) {
  const line = document.createElement('tr');
  for (const value of values) line.insertCell().textContent = known(value);
  return line;
}

// The index of the update that is nearest to `version`.
function indexOf(version) {
  let low = 0, high = updates.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (updates[middle][0] < version) low = middle + 1; else high = middle;
  }
  const before = low > 0 && version - updates[low - 1][0] < updates[low][0] - version;
  return before ? low - 1 : low;
}

function mark(version) {
  for (const drawing of document.querySelectorAll('svg[data-low]')) {
    const {low, high, left, right, top, bottom} = drawing.dataset;
    const share = (version - low) / (high - low), x = +left + share * (right - left);
    let line = drawing.querySelector('.mark');
    if (line === null) {
      line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
      line.setAttribute('class', 'mark');
      drawing.append(line);
    }
    for (const [name, value] of Object.entries({x1: x, x2: x, y1: top, y2: bottom})) {
      line.setAttribute(name, value);
    }
  }
}

function choose(index, write = true) {
  chosen = Math.max(0, Math.min(updates.length - 1, index));
  const [version, steps, lr, scale, gradients, mean] = updates[chosen];
  if (write) field.value = version;
  document.getElementById('facts').textContent =
      `Version ${version}: ${gradients.length} gradient${gradients.length === 1 ? '' : 's'}, ` +
      `${steps.toLocaleString('en')} steps after it, learning rate ${lr}, step scaled by ${scale}` +
      (mean === null ? '' : `, return of the episodes that ended ${mean}`);
  const list = gradients.map(([actor, life, sequence, base, ...rest]) =>
      row([actor, life, sequence, base, version - 1 - base, ...rest]));
  document.querySelector('#gradients tbody').replaceChildren(...list);
  const first = Math.max(0, chosen - kNeighbours);
  const near = updates.slice(first, chosen + kNeighbours + 1).map((update, i) => {
    const [number, , , , its, returns] = update;
    const line = row([number, [...new Set(its.map((one) => one[0]))].join(' '),
                      largest(its, (one) => number - 1 - one[3]), largest(its, (one) => one[6]),
                      largest(its, (one) => one[8]), returns]);
    if (first + i === chosen) line.className = 'chosen';
    line.dataset.version = number;
    return line;
  });
  document.querySelector('#near tbody').replaceChildren(...near);
  mark(version);
  clearTimeout(naming);
  naming = setTimeout(() => history.replaceState(null, '', '#' + version), 300);
}

document.addEventListener('click', (event) => {
  const named = event.target.closest('[data-version]');
  if (named !== null) return choose(indexOf(+named.dataset.version));
  const drawing = event.target.closest('svg[data-low]');
  if (drawing === null) return;
  const {low, high, left, right} = drawing.dataset, box = drawing.getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width * drawing.viewBox.baseVal.width;
  choose(indexOf(+low + (x - left) / (right - left) * (high - low)));
});
document.getElementById('before').onclick = () => choose(chosen - 1);
document.getElementById('next').onclick = () => choose(chosen + 1);
field.oninput = () => choose(indexOf(+field.value), false);
field.onchange = () => choose(indexOf(+field.value));
document.addEventListener('keydown', (event) => {
  if (event.target === field || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === 'ArrowLeft') choose(chosen - 1);
  if (event.key === 'ArrowRight') choose(chosen + 1);
});
function follow() {
  const asked = Number(location.hash.slice(1));
  choose(asked > 0 ? indexOf(asked) : updates.length - 1);
}
addEventListener('hashchange', follow);
follow();
)";

}  // namespace starling::replay
