#include "learner/status_reporter.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace starling::learner {
namespace {

constexpr std::int64_t kReportMs = 200;      // between two reports
constexpr std::size_t kMaxRowsInLine = 256;  // actors in a status line

TimeStatus TimesOf(const ActorTimes& actors, const LoopTimes& loop, std::int64_t lanes_ns) {
  const auto of_us = [](std::uint64_t us) { return static_cast<double>(us) / 1e6; };
  const auto of_ns = [](std::int64_t ns) { return static_cast<double>(ns) / 1e9; };
  return {.actors = {.wait = of_us(actors.wait_us),
                     .refresh = of_us(actors.refresh_us),
                     .act = of_us(actors.act_us),
                     .gradient = of_us(actors.gradient_us),
                     .push = of_us(actors.push_us)},
          .learner = {.receive = of_ns(loop.receive_ns),
                      .dispatch = of_ns(loop.dispatch_ns),
                      .idle = of_ns(loop.idle_ns),
                      .lanes = of_ns(lanes_ns)}};
}

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

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

void StatusReporter::Report(Moment moment, const LoopTimes& loop, const std::string& checkpoint) {
  const std::int64_t now = clock_.NowMs();
  if (moment == Moment::kRunning && now - reported_ms_ < kReportMs) return;
  reported_ms_ = now;
  const RunStatus status = StatusNow(moment, loop, checkpoint);
  const auto metrics_ms = static_cast<std::int64_t>(config_.run.metrics_s * 1000.0);
  if (moment == Moment::kEnd || now - metrics_ms_ >= metrics_ms) {
    metrics_ms_ = now;
    WriteMetrics(status);
  }
  if (sinks_.on_bulletin) ShowBulletin(status);
  if (sinks_.on_status) sinks_.on_status(status);
}

RunStatus StatusReporter::StatusNow(Moment moment, const LoopTimes& loop,
                                    const std::string& checkpoint) {
  const bool running = moment == Moment::kRunning;
  const wire::Gradient& newest = engine_.newest();
  RunStatus status = engine_.Status();
  status.phase = !running ? "done" : engine_.granted() ? "running" : "waiting";
  status.actor_us = {.wait = newest.wait_us,
                     .refresh = newest.refresh_us,
                     .act = newest.act_us,
                     .gradient = newest.gradient_us,
                     .push = newest.push_us};
  status.time = TimesOf(engine_.actor_times(), loop, engine_.pipeline().busy_ns());
  status.checkpoint = checkpoint;
  status.joined = JoinedActors(/*all=*/!running);
  status.final = moment == Moment::kEnd;
  return status;
}

// A pipe holds 64 KiB, and a longer line could be torn: of a large fleet each line lists a few
// hundred actors, in turns. The last lines are waited for, and list all.
std::vector<JoinedActor> StatusReporter::JoinedActors(bool all) {
  Roster& roster = engine_.roster();
  std::vector<JoinedActor> joined;
  for (const Member* member : roster.InTurn(all ? roster.size() : kMaxRowsInLine)) {
    joined.push_back({.slot = static_cast<int>(member->slot),
                      .incarnation = member->incarnation,
                      .accepted = member->accepted,
                      .steps = member->steps,
                      .version = member->version,
                      .staleness = member->staleness,
                      .wait_ms = member->wait_us / 1000});
  }
  return joined;
}

void StatusReporter::WriteMetrics(const RunStatus& status) {
  if (!metrics_.Write(MetricsLine(status))) {
    unwritten_.Warn(clock_.NowMs(), "metrics.jsonl: a line could not be written");
  }
  tensorboard_.Show(status);
  engine_.journal().Flush();
  const std::string& error = engine_.journal().error();
  if (!error.empty() && !std::exchange(journal_error_reported_, true)) {
    LogError("the journal is not complete, this run cannot be replayed: {}", error);
  }
}

void StatusReporter::ShowBulletin(const RunStatus& status) {
  const Roster& roster = engine_.roster();
  auto bulletin = std::make_shared<Bulletin>();
  bulletin->at_ms = steady_clock_.NowMs();
  bulletin->unix_s = UnixSeconds();
  bulletin->status = status;
  bulletin->actors =
      ActorRows(roster, static_cast<std::size_t>(config_.actors.count), clock_.NowMs());
  const auto listed = std::ranges::count_if(bulletin->actors, &ActorRow::alive);
  bulletin->not_listed = roster.size() - static_cast<std::size_t>(listed);
  sinks_.on_bulletin(std::move(bulletin));
}

}  // namespace starling::learner
