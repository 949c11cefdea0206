#include "mirror/books.h"

#include <fmt/format.h>

#include <array>
#include <system_error>
#include <utility>

#include "core/log.h"
#include "learner/learner.h"
#include "learner/storage/run_lock.h"
#include "wire/socket.h"

namespace starling::mirror {

using learner::StatusReporter;

HeldRun HoldRun(const Config& config, const std::filesystem::path& run_dir) {
  return {wire::RuntimeDir::Create(wire::RuntimeRoot(config.wire.runtime_dir), run_dir),
          learner::LockRun(run_dir), run_dir};
}

Books::Books(const Config& config, const net::ParameterLayout& layout, const HeldRun& run,
             learner::Engine& engine, const learner::Start& start, StatusReporter::Sinks sinks,
             RunningClock& clock, const Clock& steady_clock)
    : config_(config),
      engine_(engine),
      clock_(clock),
      keeper_(
          config, layout, run.dir, start, [this] { written_.Notify(); }, clock),
      reporter_(config, run.dir, engine, std::move(sinks), clock, steady_clock) {}

void Books::SaveLast(learner::CheckpointContent content, const learner::LoopTimes& times) {
  const auto await = [&](std::int64_t waited_ms) { AwaitWriter(times, waited_ms); };
  keeper_.Await(await);
  keeper_.SaveLast(std::move(content), await, [] { return false; });
  keeper_.Finish();
  try {
    engine_.journal().TakeSync().Run();
  } catch (const std::system_error& error) {
    LogError("{}", error.what());
  }
}

// Waits a little, for the writer of checkpoints. Reports how far it is, or how long it has waited
// for room: a supervisor waits while that grows.
void Books::AwaitWriter(const learner::LoopTimes& times, std::int64_t waited_ms) {
  constexpr std::int64_t kPollMs = 50;
  std::array<wire::PollItem, 1> items{};
  items[0].fd = written_.fd();
  wire::Poll(items, kPollMs);
  clock_.Tick();
  written_.Clear();
  keeper_.Collect();
  const auto [written, size] = keeper_.progress();
  const auto waited_s = static_cast<std::uint64_t>(waited_ms / 1000);
  reporter_.Report(StatusReporter::Moment::kSaving, times, keeper_.newest(),
                   learner::SavingStatus{written, size, waited_s});
}

void Books::Report(const learner::LoopTimes& times) {
  keeper_.Collect();
  if (auto spare = keeper_.TakeSpare()) engine_.Reuse(*std::move(spare));
  if (keeper_.fenced_off()) throw learner::GaveUp(keeper_.error());
  reporter_.Report(StatusReporter::Moment::kRunning, times, keeper_.newest());
}

void Books::ReportEnd(StatusReporter::Moment moment, const learner::LoopTimes& times) {
  reporter_.Report(moment, times, keeper_.newest());
}

void Books::Count(std::uint32_t rank, wire::Outcome outcome) {
  watch_.Count(clock_.NowMs(), outcome);
  if (outcome == wire::Outcome::kNone) return;
  refusals_.Warn(clock_.NowMs(), fmt::format("refused a gradient of rank {}: {}", rank,
                                             wire::OutcomeName(outcome)));
}

std::string Books::hopeless() const { return watch_.hopeless() ? watch_.Describe(config_) : ""; }

}  // namespace starling::mirror
