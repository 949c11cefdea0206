#include "monitor/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/text.h"

namespace starling::monitor {
namespace {

constexpr std::string_view kGreen = "\033[32m", kPlain = "\033[0m";

double Fraction(const Progress& progress) {
  if (progress.total == 0) return 0;
  return std::min(1.0, static_cast<double>(progress.steps) / static_cast<double>(progress.total));
}

std::string Percent(const Progress& progress) {
  // Rounded down: 100 % appears only at the last step.
  return fmt::format("{:3}%", static_cast<int>(std::floor(Fraction(progress) * 100)));
}

std::string Waiting(const Progress& progress) {
  if (progress.phase == Progress::Phase::kStarting) return "starting";
  if (progress.phase == Progress::Phase::kSilent) return "the learner does not report, 0 steps/s";
  if (progress.phase == Progress::Phase::kRedoing) {
    return fmt::format("redoing what came after the last checkpoint: {} of {} updates",
                       Grouped(progress.redo.done), Grouped(progress.redo.updates));
  }
  if (progress.phase == Progress::Phase::kSaving) {
    const auto& [written, size, waited] = progress.saving;
    if (waited > 0) {
      return fmt::format("no room for the last checkpoint: waited {} s for it", waited);
    }
    return fmt::format("writing the last checkpoint: {}B of {}B are on the disk",
                       HumanCount(static_cast<double>(written)),
                       HumanCount(static_cast<double>(size)));
  }
  return fmt::format("waiting for the first actors ({} of {} alive)", progress.actors_alive,
                     progress.actors);
}

// REQUIRES: progress.mean_return.
std::string ReturnText(const Progress& progress) {
  const std::string text = fmt::format("return {:.1f}", *progress.mean_return);
  return progress.until_return == kNever ? text
                                         : fmt::format("{} of {}", text, progress.until_return);
}

// A part of the bar's line. Parts of the lowest rank are left out first.
struct Piece {
  int rank;
  std::string text;
};

std::vector<Piece> Pieces(const Progress& progress) {
  std::vector<Piece> pieces;
  pieces.push_back({7, Percent(progress)});
  pieces.push_back({3, fmt::format("{}/{}", HumanCount(static_cast<double>(progress.steps)),
                                   HumanCount(static_cast<double>(progress.total)))});
  if (progress.steps_per_second > 0) {
    pieces.push_back({5, HumanCount(progress.steps_per_second) + "/s"});
    pieces.push_back({4, TimeLeft(progress) + " left"});
  }
  if (progress.mean_return) pieces.push_back({6, ReturnText(progress)});
  pieces.push_back(
      {2, fmt::format("stale {:.1f}/{}", progress.staleness_mean, progress.staleness_max)});
  pieces.push_back(
      {1, fmt::format("{} actor{}", progress.actors_alive, progress.actors_alive == 1 ? "" : "s")});
  return pieces;
}

int Columns(const std::vector<Piece>& pieces, int gap) {
  return std::accumulate(pieces.begin(), pieces.end(), 0, [&](int sum, const Piece& piece) {
    return sum + gap + static_cast<int>(piece.text.size());
  });
}

}  // namespace

Progress MakeProgress(const std::optional<learner::RunStatus>& status, const learner::RunGoal& goal,
                      double steps_per_second, int actors) {
  Progress progress;
  progress.total = goal.steps;
  progress.until_return = goal.until_return;
  progress.actors = actors;
  if (!status) return progress;
  progress.phase =
      status->phase == "waiting" ? Progress::Phase::kWaiting : Progress::Phase::kRunning;
  if (status->saving) {
    progress.phase = Progress::Phase::kSaving;
    progress.saving = *status->saving;
  }
  progress.steps = status->steps;
  progress.steps_per_second = steps_per_second;
  progress.mean_return = status->mean_return;
  progress.staleness_mean = status->staleness.mean;
  progress.staleness_max = status->staleness.max;
  progress.actors_alive = status->actors_alive;
  return progress;
}

std::string TimeLeft(const Progress& progress) {
  const std::uint64_t left = progress.total - std::min(progress.total, progress.steps);
  return HumanTime(static_cast<double>(left) / progress.steps_per_second);
}

std::string BarOf(double fraction, int columns, const ProgressStyle& style) {
  const int cells = style.utf8 ? columns : columns - 2;
  const int full = static_cast<int>(std::floor(fraction * cells));
  std::string bar = style.color ? std::string(kGreen) : "";
  if (!style.utf8) bar += '[';
  for (int i = 0; i < full; ++i) bar += style.utf8 ? "\u2588" : "#";
  if (style.color) bar += kPlain;
  for (int i = full; i < cells; ++i) bar += style.utf8 ? "\u2591" : "-";
  if (!style.utf8) bar += ']';
  return bar;
}

std::string ProgressBar(const Progress& progress, const ProgressStyle& style) {
  constexpr int kMaxBar = 40;
  const int room = std::max(0, style.width - 1);
  if (progress.phase != Progress::Phase::kRunning) {
    return Waiting(progress).substr(0, static_cast<std::size_t>(room));
  }
  std::vector<Piece> pieces = Pieces(progress);
  // Wide gaps if every piece fits, else narrow ones, else fewer pieces.
  int gap = 2, least_bar = 10;
  if (Columns(pieces, gap) + least_bar > room) gap = 1, least_bar = 6;
  while (pieces.size() > 1 && Columns(pieces, gap) + least_bar > room) {
    pieces.erase(std::min_element(pieces.begin(), pieces.end(),
                                  [](const Piece& a, const Piece& b) { return a.rank < b.rank; }));
  }
  const int bar = std::min(kMaxBar, room - Columns(pieces, gap));
  if (bar < least_bar) {  // too narrow for any bar
    return pieces.front().text.substr(0, static_cast<std::size_t>(room));
  }
  std::string line = BarOf(Fraction(progress), bar, style);
  for (const Piece& piece : pieces) {
    line.append(static_cast<std::size_t>(gap), ' ');
    line += piece.text;
  }
  return line;
}

std::string ProgressLine(const Progress& progress) {
  if (progress.phase != Progress::Phase::kRunning) return Waiting(progress);
  std::string line =
      fmt::format("{} of {} steps ({}%)", HumanCount(static_cast<double>(progress.steps)),
                  HumanCount(static_cast<double>(progress.total)),
                  static_cast<int>(std::floor(Fraction(progress) * 100)));
  if (progress.steps_per_second > 0) {
    line += fmt::format(", {} steps/s, {} left", HumanCount(progress.steps_per_second),
                        TimeLeft(progress));
  }
  if (progress.mean_return) line += ", " + ReturnText(progress);
  line += fmt::format(", staleness mean {:.1f} max {}, {} of {} actors", progress.staleness_mean,
                      progress.staleness_max, progress.actors_alive, progress.actors);
  return line;
}

}  // namespace starling::monitor
