// How a learner ends: the last checkpoint, and what its actors hear.
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "core/config/config_rules.h"
#include "learner/learner.h"

namespace starling::learner {

namespace {

constexpr std::int64_t kIdleEndMs = 50;   // longest wait for the writer, or for messages
constexpr std::int64_t kHelloMs = 6'000;  // an actor repeats its hello after 5 s
constexpr int kMaxAttended = 256;         // messages handled before the writer is looked at

}  // namespace

// `begun`: all shards had started.
void Learner::End(bool begun) {
  const bool over = engine_.over();
  const std::string reached = over ? GoalOf(config_).Describe(engine_.Status()) : "";
  const std::string why = !reached.empty()    ? reached
                          : over              ? "all steps are done"
                          : watch_.hopeless() ? "training cannot go on"
                                              : "the learner was told to stop";
  if (!reached.empty()) LogInfo("{}", reached);
  // 1. A cut needs the states of the actors. If nothing was applied since the cut that the run goes
  //    on from, that one is the last: not all actors may have come back.
  std::optional<CheckpointContent> last;
  if (begun && engine_.published() != cut_at_start_) last = LastContent();
  // 2. Report first, so that the supervisor replaces none of the actors that leave now. Those of
  //    other machines would join the next learner if this one were lost before its last checkpoint
  //    is written: they hear afterwards that the run is over.
  reporter_.Report(StatusReporter::Moment::kDismissed, times_, keeper_.newest());
  attends_ = over && OverTcp(config_.wire);
  if (!attends_) {
    RemoveEndpointFile();
    membership_.Dismiss(over ? wire::LeaveReason::kRunOver : wire::LeaveReason::kShuttingDown, why);
  }
  // 3. The last checkpoint may take its time.
  if (last) SaveLast(*std::move(last));
  if (attends_) TellTheEnd(why);
  RemoveEndpointFile();
  if (shards_) shards_->Leave();
  keeper_.Finish();
  try {
    engine_.journal().TakeSync().Run();
  } catch (const std::system_error& error) {
    LogError("{}", error.what());
  }
  reporter_.Report(StatusReporter::Moment::kEnd, times_, keeper_.newest());
}

// Waits for the checkpoint that is being written, then writes the last one; every shard its part.
void Learner::SaveLast(CheckpointContent content) {
  const auto await = [this](std::int64_t waited_ms) { AwaitWriter(waited_ms); };
  keeper_.Await(await);
  if (shards_ && keeper_.Has(engine_.published())) return;
  if (shards_) shards_->WriteFinalCheckpoint(engine_.published());
  keeper_.SaveLast(std::move(content), await, [this] { return MustStop(); });
}

// Tells the members that the run is over, and then, for a while, those that come late: an actor that
// was just being replaced, or that has lost an earlier learner, would wait for the next one. If the
// last checkpoint is not there, a next learner goes on, and needs them.
void Learner::TellTheEnd(const std::string& why) {
  // 1. The members.
  if (!keeper_.error().empty()) {
    return membership_.Dismiss(wire::LeaveReason::kShuttingDown,
                               "the last checkpoint could not be written");
  }
  membership_.Dismiss(wire::LeaveReason::kRunOver, why);
  // 2. Until as many have heard it as the run has actors, or all that wait must have tried: one
  //    that has lost a learner notices after wire.timeout_s, and then says hello.
  std::set<std::string> told;
  const auto tell = [&](const std::string& peer) {
    if (told.insert(peer).second) outbox_.Send(peer, wire::Leave{wire::LeaveReason::kRunOver, why});
  };
  for (const auto& [slot, member] : engine_.roster().members()) told.insert(member.peer);
  for (const std::string& peer : strangers_) tell(peer);
  const auto actors = static_cast<std::size_t>(config_.actors.count);
  const std::int64_t end_ms =
      clock_.NowMs() + static_cast<std::int64_t>(config_.wire.timeout_s * 1000.0) + kHelloMs;
  if (told.size() < actors) {
    LogInfo("{} of {} actors have heard it; the others have {:.3g} s", told.size(), actors,
            static_cast<double>(end_ms - clock_.NowMs()) / 1000);
  }
  while (told.size() < actors && clock_.NowMs() < end_ms && !MustStop()) {
    if (AwaitMessages()) return;
    wire::Envelope envelope;
    while (socket_.Receive(envelope)) {
      if (admission_.Allows(envelope)) tell(envelope.peer());
    }
    reporter_.Report(StatusReporter::Moment::kSaving, times_, keeper_.newest());
  }
}

// Waits a little for messages. Returns whether this learner was told to stop.
bool Learner::AwaitMessages() {
  std::array<wire::PollItem, 3> items{};
  items[0].socket = &socket_;
  items[1].socket = admission_.socket();
  items[2].fd = options_.stop_fd;
  wire::Poll(items, kIdleEndMs);
  clock_.Tick();
  admission_.Poll(socket_);
  return items[2].readable;
}

// Answers the heartbeats of the members that still wait. Others are answered when it is certain that
// the run is over.
void Learner::Attend() {
  admission_.Poll(socket_);
  wire::Envelope envelope;
  for (int i = 0; i < kMaxAttended && socket_.Receive(envelope); ++i) {
    if (!admission_.Allows(envelope)) continue;
    const wire::DecodeResult decoded =
        wire::Decode(envelope.frames(), slice_.size, wire::ElementTypeOf(config_.wire.gradient));
    if (!decoded) continue;
    const wire::Header& header = decoded.message.header;
    const Member* const sender = engine_.SenderOf(header);
    if (!sender) strangers_.insert(envelope.peer());
    if (!sender || header.kind != wire::Kind::kHeartbeat) continue;
    if (!admission_.IsImpostor(envelope, sender)) membership_.OnHeartbeat(envelope.peer(), header);
  }
}

// Waits a little, for the writer of checkpoints. Reports how far it is, or how long it has waited
// for room: a supervisor waits while that grows.
void Learner::AwaitWriter(std::int64_t waited_ms) {
  std::array<wire::PollItem, 2> items{};
  items[0].fd = wake_up_.fd();
  if (shards_) items[1].socket = &shards_->socket();
  wire::Poll(items, kIdleEndMs);
  clock_.Tick();
  wake_up_.Clear();
  if (shards_) shards_->Receive();
  if (attends_) Attend();
  keeper_.Collect();
  const auto [written, size] = keeper_.progress();
  const auto waited_s = static_cast<std::uint64_t>(waited_ms / 1000);
  reporter_.Report(StatusReporter::Moment::kSaving, times_, keeper_.newest(),
                   SavingStatus{written, size, waited_s});
}

}  // namespace starling::learner
