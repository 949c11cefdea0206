// How a learner ends: the last checkpoint, and what its actors hear.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "core/config/config_rules.h"
#include "learner/learner.h"

namespace starling::learner {

namespace {

constexpr std::int64_t kIdleEndMs = 50;   // longest wait for the writer, or for messages
constexpr std::int64_t kHelloMs = 6'000;  // an actor repeats its hello after 5 s
// Longest time that actors have to notice the loss of an earlier learner.
constexpr std::int64_t kSilenceMs = 10'000;
// Members wait so long for the last checkpoint. They would take a learner for lost that leaves a
// gradient unanswered for wire.timeout_s and two times staleness.deadline_s.
constexpr std::int64_t kPatienceMs = 10'000;
constexpr int kMaxAtOnce = 256;  // messages handled before the writer is looked at

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
  answers_at_end_ = over && OverTcp(config_.wire);
  ended_ms_ = clock_.NowMs();
  if (!answers_at_end_) {
    RemoveEndpointFile();
    membership_.Dismiss(over ? wire::LeaveReason::kRunOver : wire::LeaveReason::kShuttingDown, why);
  }
  // 3. The last checkpoint may take its time.
  if (last) SaveLast(*std::move(last));
  if (answers_at_end_) TellTheEnd(why);
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
  if (answers_at_end_) AnswerAtEnd();
  keeper_.Collect();
  const auto [written, size] = keeper_.progress();
  const auto waited_s = static_cast<std::uint64_t>(waited_ms / 1000);
  reporter_.Report(StatusReporter::Moment::kSaving, times_, keeper_.newest(),
                   SavingStatus{written, size, waited_s});
}

// Tells the members that the run is over, and then, for a while, those that come late: an actor
// that was just being replaced, or that has lost an earlier learner, would wait for the next one.
// If the last checkpoint is not there, a next learner goes on, and needs them.
void Learner::TellTheEnd(const std::string& why) {
  // 1. The members, and the strangers so far.
  if (!keeper_.error().empty()) {
    membership_.Dismiss(wire::LeaveReason::kShuttingDown,
                        "the last checkpoint could not be written");
    return;
  }
  const std::size_t members = membership_.Dismiss(wire::LeaveReason::kRunOver, why);
  std::set<std::string> others;
  const auto tell = [&](const Strangers& strangers) {
    for (const auto& [name, peer] : strangers) {
      const auto sent = outbox_.Send(peer, wire::Leave{wire::LeaveReason::kRunOver, why});
      if (sent == wire::SendStatus::kSent) others.insert(name);
    }
  };
  tell(strangers_);
  // 2. Until as many have heard it as the run has actors, or all that wait must have tried: one
  //    that has lost a learner notices after wire.timeout_s, and then says hello.
  const auto actors = static_cast<std::size_t>(config_.actors.count);
  const auto silence_ms = static_cast<std::int64_t>(config_.wire.timeout_s * 1000.0);
  const std::int64_t end_ms = clock_.NowMs() + std::min(silence_ms, kSilenceMs) + kHelloMs;
  const auto told = [&] { return members + others.size(); };
  if (told() < actors) {
    LogInfo("{} of {} actors have heard it; the others have {:.3g} s", told(), actors,
            static_cast<double>(end_ms - clock_.NowMs()) / 1000);
  }
  while (told() < actors && clock_.NowMs() < end_ms && !MustStop()) {
    if (AwaitMessages()) return;
    tell(ReceiveStrangers());
    reporter_.Report(StatusReporter::Moment::kSaving, times_, keeper_.newest());
  }
}

// Waits a little for messages. Returns whether this learner was told to stop.
bool Learner::AwaitMessages() {
  std::array<wire::PollItem, 4> items{};
  items[0].socket = &socket_;
  items[1].socket = admission_.socket();
  items[2].fd = options_.stop_fd;
  if (shards_) items[3].socket = &shards_->socket();
  wire::Poll(items, kIdleEndMs);
  clock_.Tick();
  if (shards_) shards_->Receive();
  return items[2].readable;
}

// While the last checkpoint is written: answers the heartbeats of the members that wait for it.
// After a while they are let go, before they take this learner for lost: those that stay (--stay)
// come back as strangers.
void Learner::AnswerAtEnd() {
  for (auto& [name, peer] : ReceiveStrangers()) strangers_[name] = peer;
  if (let_go_ || clock_.NowMs() - ended_ms_ < kPatienceMs) return;
  let_go_ = true;
  membership_.Dismiss(wire::LeaveReason::kShuttingDown, "the last checkpoint takes long");
}

// Receives the messages that have arrived and answers the heartbeats of members. Returns the peers
// that are no members.
Learner::Strangers Learner::ReceiveStrangers() {
  Strangers strangers;
  admission_.Poll(socket_);
  wire::Envelope envelope;
  for (int i = 0; i < kMaxAtOnce && socket_.Receive(envelope); ++i) {
    if (!admission_.Allows(envelope)) continue;
    const wire::DecodeResult decoded =
        wire::Decode(envelope.frames(), slice_.size, wire::ElementTypeOf(config_.wire.gradient));
    if (!decoded) continue;
    const wire::Header& header = decoded.message.header;
    if (const Member* const sender = engine_.SenderOf(header)) {
      const bool beats = header.kind == wire::Kind::kHeartbeat;
      if (beats && !admission_.IsImpostor(envelope, sender)) {
        membership_.OnHeartbeat(envelope.peer(), header);
      }
      continue;
    }
    std::string name = envelope.peer();
    if (const auto* hello = std::get_if<wire::Hello>(&decoded.message.body)) {
      name = fmt::format("{} {}", hello->host, hello->pid);
    }
    strangers[name] = envelope.peer();
  }
  return strangers;
}

}  // namespace starling::learner
