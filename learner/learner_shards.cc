// The loop's part in a learner of several processes.
#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "learner/learner.h"

namespace starling::learner {

namespace {

constexpr std::int64_t kPollMs = 50;           // longest turn if nothing happens
constexpr std::int64_t kWarnAfterMs = 10'000;  // between two lines that shards are not ready

}  // namespace

// Waits until all shards have started. Returns false if it must stop before.
bool Learner::AwaitShards() {
  std::array<wire::PollItem, 3> items{};
  items[0].socket = &shards_->socket();
  items[1].fd = wake_up_.fd();
  items[2].fd = options_.stop_fd;
  RateLimitedLog waiting(kWarnAfterMs);
  const std::int64_t started_ms = clock_.NowMs();
  while (!shards_->ready()) {
    wire::Poll(items, kPollMs);
    clock_.Tick();
    wake_up_.Clear();
    if (items[2].readable || MustStop()) return false;
    const std::int64_t waited_ms = clock_.NowMs() - started_ms;
    if (static_cast<double>(waited_ms) >= config_.updates.start_timeout_s * 1000.0) {
      throw std::runtime_error(fmt::format(
          "not every shard has read the checkpoint and begun within updates.start_timeout_s = {} s",
          config_.updates.start_timeout_s));
    }
    if (waited_ms >= kWarnAfterMs) {
      waiting.Warn(clock_.NowMs(), "waiting for the shards to read the checkpoint and to begin");
    }
    admission_.Poll(socket_);  // actors may connect already
    keeper_.Collect();
    shards_->Receive();
    shards_->WelcomeNew();
  }
  LogInfo("{} shards are ready", config_.learner.shards);
  return true;
}

// In a learner of several processes the message carries shard 0's slice. The gradient is received
// when all its slices are here.
void Learner::OnSlice(wire::Envelope envelope, const wire::Message& message) {
  const wire::Header header = message.header;
  Member* member = engine_.SenderOf(header);
  const bool expected = member && header.fingerprint == layout_.fingerprint() &&
                        header.count == slice_.size && header.sequence > member->last_sequence;
  if (!expected) {  // it is refused
    return OnGradient({.envelope = std::move(envelope), .decoded = {.message = message}});
  }
  membership_.Heard(*member, envelope.peer());
  if (shards_->TooManyMissing(header.slot, header.incarnation)) {
    return membership_.Expel(header.slot, wire::LeaveReason::kLeaving, "slices are missing",
                             "sends gradients whose slices do not come");
  }
  shards_->AddOwnSlice(std::move(envelope), message);
  OnWholeGradients();
}

void Learner::OnWholeGradients() {
  if (!shards_) return;
  while (auto whole = shards_->TakeWhole()) {
    const wire::Message message = whole->message;
    const wire::Header& header = message.header;
    Arrived arrived{.envelope = std::move(whole->envelope), .decoded = {.message = message}};
    if (Receive(std::move(arrived), whole->other_square)) continue;
    shards_->Discard({header.slot, header.incarnation, header.sequence});
  }
}

}  // namespace starling::learner
