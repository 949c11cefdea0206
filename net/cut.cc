// Cuts a net into parts; declared in net/part.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/error.h"
#include "net/part.h"

namespace starling::net {
namespace {

// Cuts `work` (bottom up) into so many consecutive parts, none of them empty, and returns the first
// layer of each. A part ends before the layer that would take its sum above `most`; the layers that
// are left go to the last part.
std::vector<std::size_t> Fill(const std::vector<std::int64_t>& work, std::size_t stages,
                              std::int64_t most) {
  std::vector<std::size_t> begins{0};
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const std::size_t open = stages - begins.size();  // parts after this one
    const bool must_close = i > begins.back() && work.size() - i == open;
    if (i > begins.back() && open > 0 && (must_close || sum + work[i] > most)) {
      begins.push_back(i);
      sum = 0;
    }
    sum += work[i];
  }
  return begins;
}

std::int64_t MostOf(const std::vector<std::int64_t>& work, const std::vector<std::size_t>& begins) {
  std::int64_t most = 0;
  for (std::size_t part = 0; part < begins.size(); ++part) {
    const std::size_t end = part + 1 < begins.size() ? begins[part + 1] : work.size();
    std::int64_t sum = 0;
    for (std::size_t i = begins[part]; i < end; ++i) sum += work[i];
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

PartSpec WholeNet(const ModelSpec& spec) {
  if (spec.deviation == Deviation::kPredicted && !spec.actions.box()) {
    throw UserError(
        "net.deviation = \"predicted\": the actions are choices, which have no "
        "deviations; leave it out",
        "net.deviation");
  }
  return {.layers = PlanLayers(spec),
          .input = {spec.height, spec.width, spec.channels},
          .policy = PolicySpec{spec.actions, spec.deviation},
          .value = true};
}

std::vector<PartSpec> CutIntoStages(const ModelSpec& spec, int stages) {
  const PartSpec whole = WholeNet(spec);
  const std::size_t count = whole.layers.size(), wanted = static_cast<std::size_t>(stages);
  if (wanted > std::max<std::size_t>(count, 1)) {
    throw UserError(fmt::format("net.stages = {}: this net has {} layer{} below its heads, and a "
                                "stage is one at least",
                                stages, count, count == 1 ? "" : "s"),
                    "net.stages");
  }
  if (stages > 1 && spec.actions.masked) {
    throw UserError(
        "net.stages: the first stage sees which actions are allowed, and the last one "
        "needs to know; set net.stages = 1 for environments with action masks",
        "net.stages");
  }
  // 1. The work of each layer: a forward pass, the gradient of its weights and, but for the first,
  // that of its input. The heads belong to the last.
  std::vector<std::int64_t> work;
  for (const PlannedLayer& layer : whole.layers) {
    work.push_back(layer.work() * (work.empty() ? 2 : 3));
  }
  if (!work.empty()) {
    work.back() +=
        std::int64_t{whole.layers.back().output.size()} * (spec.actions.outputs() + 1) * 3;
  }
  // 2. The cut whose largest part is smallest. Its size is the work of consecutive layers.
  std::vector<std::size_t> begins{0};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t first = 0; first < work.size(); ++first) {
    std::int64_t sum = 0;
    for (std::size_t end = first; end < work.size(); ++end) {
      sum += work[end];
      const auto cut = Fill(work, wanted, sum);
      const std::int64_t most = MostOf(work, cut);
      if (most < least) begins = cut, least = most;
    }
  }
  // 3. The parts.
  std::vector<PartSpec> parts;
  for (std::size_t part = 0; part < begins.size(); ++part) {
    const bool last = part + 1 == begins.size();
    const auto first = whole.layers.begin() + static_cast<std::ptrdiff_t>(begins[part]);
    const auto end = last ? whole.layers.end()
                          : whole.layers.begin() + static_cast<std::ptrdiff_t>(begins[part + 1]);
    parts.push_back({.layers = {first, end},
                     .input = part == 0 ? whole.input : first->input,
                     .first = part == 0,
                     .policy = last ? whole.policy : std::nullopt,
                     .value = last});
  }
  return parts;
}

}  // namespace starling::net
