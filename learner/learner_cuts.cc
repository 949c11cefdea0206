// The loop's part in cuts: checkpoints with the states of all actors.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "learner/learner.h"

namespace starling::learner {
namespace {

constexpr std::int64_t kPollMs = 50;       // longest turn while states are awaited
constexpr std::int64_t kMaxStopMs = 2000;  // a supervisor does not wait longer for a learner

}  // namespace

// Grants are withheld for a checkpoint: one actor that takes too long must not stop the others.
void Learner::LimitCut() {
  const std::int64_t now_ms = clock_.NowMs();
  if (!engine_.seeks_cut()) return seeking_ms_.reset();
  if (!seeking_ms_) seeking_ms_ = now_ms;
  if (now_ms - *seeking_ms_ < CutMs()) return;
  engine_.GiveUpCut();
  seeking_ms_.reset();
  cut_warnings_.Warn(
      now_ms, fmt::format("not all gradients came within checkpoint.cut_s = {} s{}: the next "
                          "checkpoint has no states of actors",
                          config_.checkpoint.cut_s,
                          config_.gradients_per_unroll() > 1 ? " for each of an unroll" : ""));
}

// Withholds grants for the end of the run. Who leaves from then on leaves with the learner.
void Learner::BeginStop() {
  if (stopped_ms_ || !options_.exact || engine_.over()) return;
  stopped_ms_ = clock_.NowMs();
  engine_.StopGranting();
}

// Whether gradients that are being computed are still awaited at the end of the run.
bool Learner::AwaitsCut() {
  BeginStop();
  return options_.exact && !engine_.over() && !engine_.AtCut() && !engine_.frozen() &&
         clock_.NowMs() - *stopped_ms_ < std::min(CutMs(), kMaxStopMs);
}

// One signal may end the whole fleet, and an actor's goodbye may be read before the learner's own
// signal. So the learner looks for its signal before it lets an actor go.
void Learner::OnLeave(const std::string& peer) {
  std::array<wire::PollItem, 1> stop{{{.fd = options_.stop_fd}}};
  if (wire::Poll(stop, 0) || MustStop()) BeginStop();
  membership_.OnLeave(peer);
}

// At a cut, asks the actors for their states. The checkpoint is written when they are here.
void Learner::SaveCheckpoint(CheckpointContent content) {
  if (!content.actors) return keeper_.Save(std::move(content));
  cuts_.GiveUp("the next checkpoint is due");
  FinishCut();
  AskForStates(std::move(content));
  FinishCut();
}

void Learner::AskForStates(CheckpointContent content) {
  const std::uint64_t version = content.state.version;
  for (const std::uint32_t slot :
       cuts_.Begin(std::move(content), engine_.roster(), clock_.NowMs())) {
    outbox_.Add(*engine_.roster().Find(slot), {.cut = version});
  }
}

std::optional<CheckpointContent> Learner::TakeCut() {
  auto result = cuts_.Take(clock_.NowMs());
  if (!result) return std::nullopt;
  // A journal that goes on behind a gap needs a cut to be redone from.
  const std::uint64_t gaps = engine_.journal().gaps();
  if (result->why_no_cut.empty()) gaps_at_cut_ = gaps;
  if (!result->why_no_cut.empty()) {
    if (gaps != gaps_at_cut_) engine_.RetryCheckpoint();
    cut_warnings_.Warn(clock_.NowMs(),
                       fmt::format("the checkpoint of version {} has no states of actors: {}",
                                   result->content.state.version, result->why_no_cut));
  }
  return std::move(result->content);
}

void Learner::FinishCut() {
  if (auto content = TakeCut()) keeper_.Save(*std::move(content));
}

// Returns the content of the last checkpoint. At a cut, receives until all states are here.
CheckpointContent Learner::LastContent() {
  std::array<wire::PollItem, 2> items{};
  items[0].socket = &socket_;
  items[1].fd = wake_up_.fd();
  const auto receive = [&] {
    Publish();
    wire::Poll(items, kPollMs);
    clock_.Tick();
    wake_up_.Clear();
    Drain();
    if (shards_) shards_->Receive();
    keeper_.Collect();
    if (stopped_ms_ && clock_.NowMs() - *stopped_ms_ >= kMaxStopMs) {
      cuts_.GiveUp("the learner must end");
    }
  };
  // 1. The states of the cut before it are still on their way, and with them gradients.
  while (cuts_.collecting() || !engine_.idle()) {
    receive();
    FinishCut();
  }
  // 2. Those of this one.
  CheckpointContent content = CaptureNow();
  if (engine_.frozen() || (content.actors && left_at_end_)) {
    LogWarn("the last checkpoint has no states of actors: they left before they were asked");
    content.actors.reset();
  }
  if (!content.actors) return content;
  AskForStates(std::move(content));
  while (true) {
    if (auto whole = TakeCut()) return *std::move(whole);
    receive();
  }
}

// The copy of a large net takes long: the background makes it, and meanwhile nothing is received.
CheckpointContent Learner::CaptureNow() {
  std::array<wire::PollItem, 1> items{};
  items[0].fd = wake_up_.fd();
  struct Copied {
    TrainingState state;
    bool done = false;
  };
  const auto copied = std::make_shared<Copied>();
  copies_.Run([this, copied] { copied->state = engine_.StateNow(); },
              [copied] { copied->done = true; });
  while (!copied->done) {
    wire::Poll(items, kPollMs);
    clock_.Tick();
    wake_up_.Clear();
    copies_.Finish();
    reporter_.Report(StatusReporter::Moment::kRunning, times_, keeper_.newest());
  }
  return engine_.ContentOf(std::move(copied->state));
}

void Learner::OnState(const wire::Header& header, const wire::State& part) {
  Member* member = engine_.SenderOf(header);
  if (!member) return;
  membership_.Heard(*member, member->peer);
  cuts_.Add(*member, header.version, part);
}

}  // namespace starling::learner
