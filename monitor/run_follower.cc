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
#include "monitor/http/pages.h"
#include "wire/runtime_dir.h"

namespace starling::monitor {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLookMs = 500;      // between two looks
constexpr std::int64_t kGapMs = 5000;      // between two looks: the curves are read again
constexpr std::int64_t kGrowsMs = 10'000;  // a file that grew so lately is being written
constexpr std::size_t kLogLines = 12;
constexpr std::uint64_t kLogBytes = 8 << 10;

std::uintmax_t SizeOf(const fs::path& file) {
  std::error_code none;
  const std::uintmax_t size = fs::file_size(file, none);
  return none ? 0 : size;
}

std::string TextIn(const fs::path& file) {
  try {
    return ReadRegularFile(file);
  } catch (const std::system_error&) {
    return "";
  }
}

std::string StepsOf(const results::LoadedRun& run) {
  return Grouped(static_cast<std::uint64_t>(run.steps()));
}

}  // namespace

std::string_view NameOf(Standing standing) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "live", "learner gone", "elsewhere", "finished", "interrupted", "failed", "unreadable"};
  return kNames[static_cast<std::size_t>(standing)];
}

RunFollower::RunFollower(fs::path run_dir, const Clock& clock)
    : run_dir_(std::move(run_dir)), clock_(clock) {}

void RunFollower::LookAtStatus() {
  // 1. Who is at work.
  const std::int64_t now = clock_.NowMs();
  if (status_ms_ && now - *status_ms_ < kLookMs) return;
  status_ms_ = now;
  if (!config_) ReadConfig();
  if (!config_) return;
  alive_ = FindAlive();
  fleet_.reset();
  if (!alive_.any()) return published_.reset();

  // 2. What they say.
  if (alive_.supervisor) {
    const fs::path fleet = wire::RuntimeDir::FleetOf(run_dir_);
    fleet_ = ParseFleetStatus(TextIn(wire::RuntimeDir::StatusPath(root_, fleet)));
  }
  auto newest = learner::ParsePublished(TextIn(wire::RuntimeDir::StatusPath(root_, run_dir_)));
  if (newest) published_ = *std::move(newest);
}

void RunFollower::Look() {
  LookAtStatus();
  const std::int64_t now = clock_.NowMs();
  if (!config_ || (looked_ms_ && now - *looked_ms_ < kLookMs)) return;
  const bool gap = !looked_ms_ || now - *looked_ms_ >= kGapMs;
  looked_ms_ = now;

  // 1. The files that stay. While the run lives, its status says more than they.
  const Signature signature = SignatureNow();
  if (!gap && signature.metrics > signature_.metrics) grown_ms_ = now;
  if (signature.evals != signature_.evals) run_.evals = results::ReadEvalLines(run_dir_);
  const bool changed = alive_ != known_alive_ || (!alive() && signature != signature_);
  known_alive_ = alive_;
  signature_ = signature;
  if (gap || changed) Reload(now);

  // 2. The status.
  if (published_ && published_->at_ms != shown_at_ms_) {
    shown_at_ms_ = published_->at_ms;
    history_->Add(now, published_->status);
  }
  Judge(now);
}

bool RunFollower::learner_gone() const {
  if (!alive() || !published_) return false;
  return fleet_ ? !fleet_->learner_alive : !alive_.learner;
}

void RunFollower::ReadConfig() {
  try {
    config_ = LoadConfig(run_dir_ / "config.toml");
    root_ = wire::RuntimeRoot(config_->wire.runtime_dir);
  } catch (const std::exception& error) {  // of another version, say
    config_.reset();
    sentence_ = fmt::format("config.toml cannot be read: {}", error.what());
  }
}

RunFollower::Alive RunFollower::FindAlive() const {
  const auto alive = [this](const fs::path& run) {
    try {
      return wire::RuntimeDir::FindOwner(root_, run).has_value();
    } catch (const std::exception&) {  // it is being removed
      return false;
    }
  };
  return {.learner = alive(run_dir_), .supervisor = alive(wire::RuntimeDir::FleetOf(run_dir_))};
}

RunFollower::Signature RunFollower::SignatureNow() const {
  return {.metrics = SizeOf(run_dir_ / "metrics.jsonl"),
          .summary = SizeOf(run_dir_ / "summary.json"),
          .evals = SizeOf(run_dir_ / "eval.jsonl")};
}

// Time on the curves begins so that the past ends now.
void RunFollower::Reload(std::int64_t now_ms) {
  run_ = results::LoadRun(run_dir_);
  const double past_s = run_.metrics.empty() ? 0 : run_.metrics.back().seconds;
  history_.emplace(FactsOf(*config_), static_cast<int>(config_->actors.count),
                   now_ms - static_cast<std::int64_t>(past_s * 1000));
  for (const results::MetricPoint& point : run_.metrics) {
    history_->AddPast(point.seconds, static_cast<std::uint64_t>(point.steps), point.mean_return);
  }
  past_end_ms_ = now_ms;
  shown_at_ms_ = 0;
  if (!alive() && run_.summary) history_->Add(now_ms, *run_.summary);
}

void RunFollower::Judge(std::int64_t now_ms) {
  using enum Standing;
  if (alive()) {
    const bool redoes = fleet_ && fleet_->redo;
    const bool old = published_ && now_ms - published_->at_ms >= kMaxSilentMs;
    history_->SetSilent(!learner_gone() && (fleet_ ? fleet_->learner_silent : old));
    history_->SetRedo(fleet_ ? fleet_->redo : std::nullopt);
    const bool over = fleet_ && fleet_->over;
    standing_ = learner_gone() && !redoes && !over ? kLearnerGone : kLive;
  } else if (now_ms - grown_ms_ < kGrowsMs) {
    standing_ = kElsewhere;
  } else if (run_.state == results::RunState::kFinished) {
    standing_ = kFinished;
  } else {
    standing_ = run_.error.empty() ? kInterrupted : kFailed;
  }
  sentence_ = SentenceOf(standing_);
}

std::string RunFollower::SentenceOf(Standing standing) const {
  const std::string run = ShellQuoted(run_dir_.string());
  switch (standing) {
    case Standing::kLive:
      return ProgressLine(history_->progress());
    case Standing::kLearnerGone:
      return fmt::format(
          "the learner has died at {} steps: it is started again from its last checkpoint, and its "
          "actors wait for it",
          Grouped(published_->status.steps));
    case Standing::kElsewhere:
      return fmt::format("at {} steps, on another machine: who is at work there is not known here",
                         StepsOf(run_));
    case Standing::kFinished:
      return fmt::format("finished after {} steps", StepsOf(run_));
    case Standing::kInterrupted:
      return fmt::format("interrupted at {} steps; starling train --resume {} goes on with it",
                         StepsOf(run_), run);
    case Standing::kFailed:
      return fmt::format("failed at {} steps: {}", StepsOf(run_), run_.error);
    case Standing::kUnreadable:
      break;
  }
  return sentence_;
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
