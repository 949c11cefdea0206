#include "monitor/run_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "learner/run_goal.h"
#include "monitor/http/pages.h"
#include "results/run_dir.h"
#include "wire/runtime_dir.h"

namespace starling::monitor {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLookMs = 500;      // between two looks
constexpr std::int64_t kGapMs = 5000;      // between two looks: the curves are read again
constexpr std::int64_t kGrowsMs = 10'000;  // a file that grew so lately is being written
constexpr std::size_t kLogLines = 12;
constexpr std::uint64_t kLogBytes = 8 << 10;

std::string TextIn(const fs::path& file) {
  try {
    return ReadRegularFile(file);
  } catch (const std::system_error&) {
    return "";
  }
}

}  // namespace

std::string_view NameOf(Standing standing) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "live", "learner gone", "elsewhere", "finished", "interrupted", "failed", "unreadable"};
  return kNames[static_cast<std::size_t>(standing)];
}

std::optional<fs::path> RuntimeRootOf(const Config& config) {
  try {
    return wire::RuntimeRoot(config.wire.runtime_dir);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

RunFollower::RunFollower(fs::path run_dir, const Clock& clock)
    : run_dir_(std::move(run_dir)), clock_(clock), metrics_(run_dir_) {}

void RunFollower::LookAtStatus() {
  // 1. Who is at work.
  const std::int64_t now = clock_.NowMs();
  if (status_ms_ && now - *status_ms_ < kLookMs) return;
  status_ms_ = now;
  ReadConfig();
  alive_ = FindAlive();
  fleet_.reset();
  if (!alive_.any()) return published_.reset();

  // 2. What they say. A learner that has just begun has not said anything yet.
  if (alive_.supervisor) {
    const fs::path fleet = wire::RuntimeDir::FleetOf(run_dir_);
    fleet_ = ParseFleetStatus(TextIn(wire::RuntimeDir::StatusPath(*root_, fleet)));
  }
  const std::string text = TextIn(wire::RuntimeDir::StatusPath(*root_, run_dir_));
  auto newest = learner::ParsePublished(text);
  if (newest) {
    published_ = *std::move(newest);
  } else if (text.empty() && alive_.learner) {
    published_.reset();
  }
}

void RunFollower::Look() {
  LookAtStatus();
  const std::int64_t now = clock_.NowMs();
  if (!config_) {
    standing_ = Standing::kUnreadable;
    return;
  }
  if (history_ && looked_ms_ && now - *looked_ms_ < kLookMs) return;

  // 1. The files that stay.
  const bool gap = !looked_ms_ || now - *looked_ms_ >= kGapMs;
  const bool begun = !metrics_.points().empty(), grown = metrics_.Read();
  if (alive() || known_alive_.any()) {
    grown_ms_ = INT64_MIN / 2;
  } else if (begun && grown && !gap && !metrics_.behind()) {
    grown_ms_ = now;
  }
  bool changed = alive_ != std::exchange(known_alive_, alive_);
  if (const Stamp stamp = StampOf("summary.json"); stamp != summary_stamp_) {
    summary_stamp_ = stamp;
    result_ = results::ReadSummary(run_dir_);
    changed = true;
  }
  if (const Stamp stamp = StampOf("eval.jsonl"); stamp != evals_stamp_) {
    evals_stamp_ = stamp;
    evals_ = results::ReadEvalLines(run_dir_);
  }

  // 2. The model. While the run lives, its status says more than its files, unless nobody looked.
  const bool late = metrics_.behind() || (grown && !alive());
  if (!history_ || gap || changed || late) DrawPast(now);
  if (published_ && published_->at_ms != shown_at_ms_) {
    shown_at_ms_ = published_->at_ms;
    history_->Add(now, published_->status);
  }
  Judge(now);
  looked_ms_ = clock_.NowMs();
}

bool RunFollower::learner_gone() const {
  if (!alive() || !published_ || (fleet_ && fleet_->over)) return false;
  return fleet_ ? !fleet_->learner_alive : !alive_.learner;
}

RunFollower::Stamp RunFollower::StampOf(const char* file) const {
  std::error_code none;
  const std::uintmax_t size = fs::file_size(run_dir_ / file, none);
  if (none) return {};
  const auto time = fs::last_write_time(run_dir_ / file, none);
  return {size, time};
}

// It changes when a run is resumed with other settings.
void RunFollower::ReadConfig() {
  const Stamp stamp = StampOf("config.toml");
  if (stamp == std::exchange(config_stamp_, stamp) && (config_ || !sentence_.empty())) return;
  history_.reset();
  try {
    config_ = LoadConfig(run_dir_ / "config.toml");
  } catch (const UserError& error) {  // of another version, say
    config_.reset();
    sentence_ = stamp == Stamp{}
                    ? "it has no configuration yet"
                    : fmt::format("its configuration cannot be read: {}", error.what());
    return;
  }
  root_ = RuntimeRootOf(*config_);
}

RunFollower::Alive RunFollower::FindAlive() const {
  if (!config_ || !root_) return {};
  const auto alive = [this](const fs::path& run) {
    try {
      return wire::RuntimeDir::FindOwner(*root_, run).has_value();
    } catch (const std::exception&) {  // it is being removed
      return false;
    }
  };
  return {.learner = alive(run_dir_), .supervisor = alive(wire::RuntimeDir::FleetOf(run_dir_))};
}

// Time on the curves begins so that the past ends now.
void RunFollower::DrawPast(std::int64_t now_ms) {
  const std::vector<results::MetricPoint>& points = metrics_.points();
  const double past_s = points.empty() ? 0 : points.back().seconds;
  history_.emplace(FactsOf(*config_), static_cast<int>(config_->actors.count),
                   now_ms - static_cast<std::int64_t>(past_s * 1000));
  for (const results::MetricPoint& point : points) {
    history_->AddPast(point.seconds, static_cast<std::uint64_t>(point.steps), point.mean_return);
  }
  past_end_ms_ = now_ms;
  shown_at_ms_ = 0;
  if (!alive() && result_) history_->Add(now_ms, result_->training);
}

void RunFollower::Judge(std::int64_t now_ms) {
  using enum Standing;
  if (alive()) {
    const bool old = published_ && now_ms - published_->at_ms >= kMaxSilentMs;
    history_->SetSilent(!learner_gone() && (fleet_ ? fleet_->learner_silent : old));
    history_->SetRedo(fleet_ ? fleet_->redo : std::nullopt);
    standing_ = learner_gone() && !(fleet_ && fleet_->redo) ? kLearnerGone : kLive;
  } else if (now_ms - grown_ms_ < kGrowsMs) {
    standing_ = kElsewhere;
  } else if (result_ && learner::GoalOf(*config_).Reached(result_->training)) {
    standing_ = kFinished;
  } else {
    standing_ = result_ && !result_->error.empty() ? kFailed : kInterrupted;
  }
  sentence_ = SentenceOf(standing_);
}

std::string RunFollower::Steps() const {
  const std::vector<results::MetricPoint>& points = metrics_.points();
  const std::uint64_t told = result_ ? result_->training.steps : 0;
  return Grouped(
      std::max(told, points.empty() ? 0 : static_cast<std::uint64_t>(points.back().steps)));
}

std::string RunFollower::SentenceOf(Standing standing) const {
  switch (standing) {
    case Standing::kLive:
      return ProgressLine(history_->progress());
    case Standing::kLearnerGone:
      return fmt::format(
          "the learner has died at {} steps: it is started again from its last checkpoint, and its "
          "actors wait for it",
          Grouped(published_->status.steps));
    case Standing::kElsewhere:
      return fmt::format("at {} steps: its files grow, and its processes are not found here",
                         Steps());
    case Standing::kFinished:
      return fmt::format("after {} steps", Steps());
    case Standing::kInterrupted:
      break;
    case Standing::kFailed:
      return fmt::format("at {} steps: {}", Steps(), result_->error);
    case Standing::kUnreadable:
      return sentence_;
  }
  std::string sentence = fmt::format("not at work here, at {} steps", Steps());
  if (!results::HasCheckpoint(run_dir_) || results::IsSimulated(run_dir_)) return sentence;
  return fmt::format("{}; unless it trains on another machine, starling train --resume {} goes on",
                     sentence, ShellQuoted(run_dir_.string()));
}

// The supervisor's account; by hand the learner's, which knows its members only.
std::vector<ActorProcess> RunFollower::Processes() const {
  const auto count = static_cast<std::size_t>(config_->actors.count);
  if (fleet_ && fleet_->actors.size() == count) return fleet_->actors;
  std::vector<ActorProcess> processes(count);
  if (!published_) return processes;
  for (const learner::ActorStatus& actor : published_->actors) {
    if (std::cmp_greater_equal(actor.slot, count)) break;
    processes[static_cast<std::size_t>(actor.slot)] = {.alive = actor.alive,
                                                       .accepted = actor.accepted > 0};
  }
  return processes;
}

RunView RunFollower::View() {
  const std::int64_t now = alive() ? clock_.NowMs() : past_end_ms_;
  return history_->View(now, Processes(), fleet_ && fleet_->over);
}

std::vector<std::string> RunFollower::LogLines() const {
  std::istringstream text(ReadFileEnd(run_dir_ / "log", kLogBytes));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(std::move(line));
  if (lines.size() > kLogLines) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kLogLines));
  }
  return lines;
}

}  // namespace starling::monitor
