#include "mirror/books.h"

#include <fmt/format.h>

#include <array>
#include <system_error>
#include <utility>

#include "core/log.h"
#include "core/room.h"
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
             const Clock& clock, const Clock& steady_clock)
    : config_(config),
      engine_(engine),
      clock_(clock),
      keeper_(
          config, layout, run.dir, start.checkpoint, start.state.version,
          [this] { written_.Notify(); }, clock),
      reporter_(config, run.dir, engine, std::move(sinks), clock, steady_clock) {}

void Books::SaveLast(learner::CheckpointContent content, const std::function<bool()>& must_stop) {
  AwaitSaved();
  keeper_.Save(std::move(content));
  AwaitSaved();
  const std::int64_t begin_ms = clock_.NowMs();
  while (keeper_.lacks_room() && clock_.NowMs() - begin_ms < kRoomWaitMs && !must_stop()) {
    LogWarn("the last checkpoint is tried again: free space there");
    Pause(kRoomRetryMs);
    keeper_.Retry();
    AwaitSaved();
  }
  keeper_.Finish();
  try {
    engine_.journal().TakeSync().Run();
  } catch (const std::system_error& error) {
    LogError("{}", error.what());
  }
}

void Books::AwaitSaved() {
  constexpr std::int64_t kPollMs = 50;
  while (!keeper_.idle()) {
    Pause(kPollMs);
    keeper_.Collect();
  }
}

void Books::Pause(std::int64_t ms) {
  std::array<wire::PollItem, 1> items{};
  items[0].fd = written_.fd();
  wire::Poll(items, ms);
  written_.Clear();
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
