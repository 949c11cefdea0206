#include "fleet/sweep/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "fleet/statistics.h"

namespace starling::fleet {

std::string SweepBar(const SweepProgress& progress, const ProgressStyle& style) {
  constexpr int kMostBar = 40, kLeastBar = 8;
  const int room = std::max(0, style.width - 1);
  std::vector<std::string> pieces = {fmt::format("{}/{} runs done", progress.done, progress.total)};
  if (progress.failed > 0) pieces.push_back(fmt::format("{} failed", progress.failed));
  if (progress.left_s) pieces.push_back(HumanTime(*progress.left_s) + " left");
  pieces.push_back(fmt::format("{} running", progress.running));
  std::string text = pieces.front();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const std::string longer = text + ", " + pieces[i];
    if (static_cast<int>(longer.size()) > room) break;
    text = longer;
  }
  const int bar = std::min(kMostBar, room - static_cast<int>(text.size()) - 2);
  if (bar < kLeastBar) return text.substr(0, static_cast<std::size_t>(room));
  const double over = progress.done + progress.failed;
  const double fraction = progress.total > 0 ? over / progress.total : 0;
  return BarOf(fraction, bar, style) + "  " + text;
}

std::optional<double> SweepTimeLeft(std::span<const double> finished,
                                    std::span<const double> running, int waiting, int at_once) {
  if (finished.empty()) return std::nullopt;
  const double typical = Mean(finished);
  double work = waiting * typical, longest = 0;
  for (const double elapsed : running) {
    const double rest = std::max(0.0, typical - elapsed);
    work += rest;
    longest = std::max(longest, rest);
  }
  return std::max(work / at_once, longest);
}

}  // namespace starling::fleet
