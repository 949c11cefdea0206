#include "learner/status_reporter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace starling::learner {
namespace {

constexpr std::int64_t kReportMs = 200;      // between two reports
constexpr std::int64_t kPublishMs = 1000;    // between two published ones
constexpr std::size_t kMaxRowsInLine = 256;  // actors in a status line

ActorStatus StatusOf(const Member& member, std::int64_t now_ms) {
  return {.slot = member.slot,
          .incarnation = member.incarnation,
          .accepted = member.accepted,
          .steps = member.steps,
          .version = member.version,
          .staleness = member.staleness,
          .wait_us = member.wait_us,
          .alive = true,
          .host = member.host,
          .pid = member.pid,
          .key = member.key_name,
          .silent_s = static_cast<double>(now_ms - member.heard_ms) / 1e3};
}

TimeStatus TimesOf(const UnrollStatus& actors, const LoopTimes& loop, std::int64_t lanes_ns) {
  const auto of_us = [](std::uint64_t us) { return static_cast<double>(us) / 1e6; };
  const auto of_ns = [](std::int64_t ns) { return static_cast<double>(ns) / 1e9; };
  return {.actors = {.wait = of_us(actors.wait),
                     .refresh = of_us(actors.refresh),
                     .act = of_us(actors.act),
                     .act_wait = of_us(actors.act_wait),
                     .gradient = of_us(actors.gradient),
                     .push = of_us(actors.push)},
          .learner = {.receive = of_ns(loop.receive_ns),
                      .dispatch = of_ns(loop.dispatch_ns),
                      .idle = of_ns(loop.idle_ns),
                      .lanes = of_ns(lanes_ns)}};
}

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::vector<ActorStatus> SlotRows(const Roster& roster, std::size_t expected, std::int64_t now_ms) {
  std::vector<ActorStatus> rows;
  std::uint64_t next = 0;  // the first slot without a row
  const auto add_missing = [&](std::uint64_t end) {
    for (; next < end && rows.size() < kMaxRows; ++next) {
      const auto slot = static_cast<std::uint32_t>(next);
      const auto left = roster.left().find(slot);
      rows.push_back({.slot = slot, .left = left == roster.left().end() ? "" : left->second});
    }
  };
  for (const auto& [taken, member] : roster.members()) {
    add_missing(std::min<std::uint64_t>(taken, expected));  // the empty slots before this member
    if (rows.size() == kMaxRows) return rows;
    rows.push_back(StatusOf(member, now_ms));
    next = std::uint64_t{taken} + 1;
  }
  add_missing(expected);
  return rows;
}

// ---- TensorBoard

std::vector<Scalar> ScalarsOf(const RunStatus& status, const RunStatus& before) {
  const auto per_second = [&](std::uint64_t now, std::uint64_t then) {
    const double seconds = status.seconds - before.seconds;
    return seconds > 0 ? (static_cast<double>(now) - static_cast<double>(then)) / seconds : NAN;
  };
  const Scalar charts[] = {
      {"return", status.mean_return.value_or(NAN)},
      {"episode_length", status.mean_length.value_or(NAN)},
      {"loss/policy", status.losses.policy},
      {"loss/value", status.losses.value},
      {"loss/entropy", status.losses.entropy},
      {"optimizer/learning_rate", status.lr},
      {"optimizer/gradient_norm", status.losses.grad_norm},
      {"staleness/mean", status.staleness.mean},
      {"staleness/max", static_cast<double>(status.staleness.max)},
      {"speed/steps_per_second", per_second(status.steps, before.steps)},
      {"speed/updates_per_second", per_second(status.updates, before.updates)},
  };
  std::vector<Scalar> scalars;
  if (status.reuse) {
    scalars = {{"reuse/kl", status.reuse->kl},
               {"reuse/clipped", status.reuse->clipped},
               {"reuse/age_mean", status.reuse->age_mean},
               {"reuse/age_max", static_cast<double>(status.reuse->age_max)}};
    std::erase_if(scalars, [](const Scalar& one) { return !std::isfinite(one.value); });
  }
  for (const Scalar& chart : charts) {
    if (std::isfinite(chart.value)) scalars.push_back(chart);
  }
  return scalars;
}

TensorBoardLog::TensorBoardLog(bool wanted, const std::filesystem::path& run_dir,
                               std::uint64_t steps)
    : before_{.steps = steps} {
  if (!wanted) return;
  try {
    events_.emplace(run_dir / "tensorboard", steps + 1);
  } catch (const std::system_error& error) {
    LogWarn("nothing for TensorBoard: {}", error.what());
  }
}

void TensorBoardLog::Show(const RunStatus& status) {
  if (!events_) return;
  const RunStatus before = std::exchange(before_, status);
  if (before_.steps == before.steps) return;
  if (events_->Write(status.steps, ScalarsOf(status, before))) return;
  if (!std::exchange(error_reported_, true)) {
    LogWarn("tensorboard: points could not be written");
  }
}

// ---- StatusReporter

StatusReporter::StatusReporter(const Config& config, const std::filesystem::path& run_dir,
                               Engine& engine, Sinks sinks, const Clock& clock,
                               const Clock& steady_clock)
    : config_(config),
      engine_(engine),
      sinks_(std::move(sinks)),
      clock_(clock),
      steady_clock_(steady_clock),
      metrics_(run_dir / "metrics.jsonl"),
      tensorboard_(config.run.tensorboard, run_dir, engine.Status().steps) {}

void StatusReporter::Report(Moment moment, const LoopTimes& loop, const std::string& checkpoint,
                            std::optional<SavingStatus> saving) {
  const std::int64_t now = clock_.NowMs();
  const bool paced = moment == Moment::kRunning || moment == Moment::kSaving;
  if (paced && now - reported_ms_ < kReportMs) return;
  reported_ms_ = now;
  RunStatus status = StatusNow(moment, loop, checkpoint);
  status.saving = saving;
  const auto metrics_ms = static_cast<std::int64_t>(config_.run.metrics_s * 1000.0);
  if (moment == Moment::kEnd || now - metrics_ms_ >= metrics_ms) {
    metrics_ms_ = now;
    WriteMetrics(status);
  }
  const bool running = moment == Moment::kRunning;
  if (sinks_.on_published && (!running || now - published_ms_ >= kPublishMs)) {
    published_ms_ = now;
    Publish(status);
  }
  if (sinks_.on_status) sinks_.on_status(status);
}

RunStatus StatusReporter::StatusNow(Moment moment, const LoopTimes& loop,
                                    const std::string& checkpoint) {
  const bool running = moment == Moment::kRunning;
  RunStatus status = engine_.Status();
  status.phase = !running ? "done" : engine_.granted() ? "running" : "waiting";
  status.actor_us = TimesOf(engine_.newest());
  status.time = TimesOf(engine_.actor_times(), loop, engine_.pipeline().busy_ns());
  status.checkpoint = checkpoint;
  status.joined = JoinedActors(/*all=*/!running);
  status.final = moment == Moment::kEnd;
  return status;
}

// A pipe holds 64 KiB, and a longer line could be torn: of a large fleet each line lists a few
// hundred actors, in turns. The last lines are waited for, and list all.
std::vector<ActorStatus> StatusReporter::JoinedActors(bool all) {
  Roster& roster = engine_.roster();
  std::vector<ActorStatus> joined;
  for (const Member* member : roster.InTurn(all ? roster.size() : kMaxRowsInLine)) {
    joined.push_back(StatusOf(*member, clock_.NowMs()));
  }
  return joined;
}

// Flushes the journal first: after a kill it has every update that a line has counted.
void StatusReporter::WriteMetrics(const RunStatus& status) {
  engine_.journal().Flush();
  if (!metrics_.Write(MetricsLine(status))) {
    unwritten_.Warn(clock_.NowMs(), "metrics.jsonl: a line could not be written");
  }
  tensorboard_.Show(status);
  NoteJournal();
}

// What it lacks is said once, and when it goes on. Attempts that fail meanwhile are no news.
void StatusReporter::NoteJournal() {
  const JournalWriter& journal = engine_.journal();
  const bool was_broken = std::exchange(journal_broken_, journal.broken());
  if (was_broken && journal.broken()) return;
  if (was_broken) LogWarn("the journal goes on: a replay can begin at the next checkpoint");
  if (std::exchange(journal_error_, journal.error()) != journal.error() && !was_broken) {
    LogError("the journal is not complete, a replay ends there: {}", journal_error_);
  }
}

void StatusReporter::Publish(const RunStatus& status) {
  const Roster& roster = engine_.roster();
  PublishedStatus published{
      .at_ms = steady_clock_.NowMs(), .unix_s = UnixSeconds(), .status = status};
  published.actors =
      SlotRows(roster, static_cast<std::size_t>(config_.actors.count), clock_.NowMs());
  const auto listed = std::ranges::count_if(published.actors, &ActorStatus::alive);
  published.not_listed = roster.size() - static_cast<std::size_t>(listed);
  sinks_.on_published(published);
}

}  // namespace starling::learner
