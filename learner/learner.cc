#include "learner/learner.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <array>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace starling::learner {

namespace {

constexpr int kMaxDrained = 256;      // messages handled before the applier is looked at
constexpr std::int64_t kIdleMs = 50;  // longest turn of the loop if nothing happens
constexpr std::int64_t kRetryMs = 5;  // the same while an answer waits for room

}  // namespace

// ---- the loop

bool Learner::Run() {
  const bool begun = !shards_ || AwaitShards();
  if (begun) Loop();
  End(begun);
  return engine_.over();
}

void Learner::Loop() {
  std::array<wire::PollItem, 7> items{};
  auto& [messages, wake_up, stop, subscribers, newcomers, reload, shards] = items;
  messages.socket = &socket_;
  wake_up.fd = wake_up_.fd();
  stop.fd = options_.stop_fd;
  if (beacon_) subscribers.socket = &*beacon_;
  newcomers.socket = admission_.socket();
  reload.fd = admission_.has_keys() ? options_.reload_fd : -1;
  if (shards_) shards.socket = &shards_->socket();

  while (true) {
    // 1. Wait for something to happen.
    times_.dispatch_ns += laps_.LapNs();
    wire::Poll(items, outbox_.waiting() ? kRetryMs : kIdleMs);
    times_.idle_ns += laps_.LapNs();
    clock_.Tick();
    wake_up_.Clear();
    if (subscribers.readable) beacon_->Repeat();
    if (reload.readable) ReloadKeys();
    if (shards_) shards_->Receive();
    // 2. Receive. Check deadlines only when all messages were read.
    const bool stopped = stop.readable || MustStop() || watch_.hopeless();
    if (!stopped && !engine_.over()) {
      OnWholeGradients();
      const bool all_read = Drain();
      membership_.OpenWhenReady();
      if (all_read) {
        membership_.ExpireGrants();
        membership_.RemoveSilent();
      }
      engine_.Advance();
    }
    admission_.Poll(socket_);
    // 3. Publish completed versions and answer.
    Publish();
    keeper_.Collect();
    if (keeper_.fenced_off()) throw GaveUp(keeper_.error());
    if ((stopped || engine_.over()) && engine_.idle()) return;
    reporter_.Report(StatusReporter::Moment::kRunning, times_, keeper_.newest());
  }
}

// `begun`: all shards had started.
void Learner::End(bool begun) {
  const bool over = engine_.over();
  std::error_code ignored;
  std::filesystem::remove(endpoint_file(), ignored);
  // 1. Report first, so that the supervisor replaces none of the actors that leave now.
  reporter_.Report(StatusReporter::Moment::kDismissed, times_, keeper_.newest());
  membership_.Dismiss(over ? wire::LeaveReason::kRunOver : wire::LeaveReason::kShuttingDown,
                      over                ? "all steps are done"
                      : watch_.hopeless() ? "training cannot go on"
                                          : "the learner was told to stop");
  // 2. The last checkpoint may take its time.
  if (begun) SaveLast();
  if (shards_) shards_->Leave();
  keeper_.Finish();
  if (const std::string error = engine_.journal().TakeSync().Run(); !error.empty()) {
    LogError("{}", error);
  }
  reporter_.Report(StatusReporter::Moment::kEnd, times_, keeper_.newest());
}

// Waits for the checkpoint that is being written, then writes the last one; every shard its part.
void Learner::SaveLast() {
  AwaitSaved();
  if (shards_ && keeper_.Has(engine_.published())) return;
  if (shards_) shards_->WriteFinalCheckpoint(engine_.published());
  keeper_.Save(engine_.CaptureNow());
  AwaitSaved();
}

// Reports meanwhile how far it is: a supervisor waits while it grows.
void Learner::AwaitSaved() {
  std::array<wire::PollItem, 2> items{};
  items[0].fd = wake_up_.fd();
  if (shards_) items[1].socket = &shards_->socket();
  while (!keeper_.idle()) {
    wire::Poll(items, kIdleMs);
    clock_.Tick();
    wake_up_.Clear();
    if (shards_) shards_->Receive();
    keeper_.Collect();
    const auto [written, size] = keeper_.progress();
    reporter_.Report(StatusReporter::Moment::kSaving, times_, keeper_.newest(),
                     SavingStatus{written, size});
  }
  keeper_.Collect();
}

// ---- receive

// Handles the messages that have arrived, a limited number. Returns whether all were handled.
bool Learner::Drain() {
  wire::Envelope envelope;
  for (int i = 0; i < kMaxDrained; ++i) {
    if (!socket_.Receive(envelope)) return true;
    Handle(std::move(envelope));
    times_.receive_ns += laps_.LapNs();
    engine_.Advance();  // the judge decides after every arrival, while the applier has room
    times_.dispatch_ns += laps_.LapNs();
  }
  return false;
}

void Learner::Handle(wire::Envelope envelope) {
  // 1. Refuse messages that are damaged or not allowed.
  if (!admission_.Allows(envelope)) return;
  const wire::DecodeResult decoded = wire::Decode(envelope.frames(), slice_.size);
  if (!decoded) {
    const std::string refusal = wire::RefusalName(decoded.refusal);
    ++engine_.counters().frames_refused[refusal];
    refusals_.Warn(clock_.NowMs(), "refused a message: " + refusal);
    membership_.OnDamaged(envelope.peer(), refusal);
    return;
  }
  const wire::Message& message = decoded.message;
  if (admission_.IsImpostor(envelope, engine_.SenderOf(message.header))) return;
  // 2. Give the message to the object that it belongs to.
  switch (message.header.kind) {
    case wire::Kind::kHello:
      return membership_.OnHello(envelope.peer(), envelope.key(),
                                 std::get<wire::Hello>(message.body));
    case wire::Kind::kGradient:
      return shards_ ? OnSlice(std::move(envelope), message)
                     : OnGradient(std::move(envelope), message);
    case wire::Kind::kFetch:
      return OnFetch(message.header);
    case wire::Kind::kHeartbeat:
      return membership_.OnHeartbeat(envelope.peer(), message.header);
    case wire::Kind::kLeave:
      return membership_.OnLeave(envelope.peer());
    default:
      ++engine_.counters().frames_refused["kind"];
      return;
  }
}

void Learner::OnGradient(wire::Envelope envelope, const wire::Message& message) {
  Receive(std::move(envelope), message, /*other_square=*/0);
}

// Passes a gradient to the engine and answers a refusal. Returns whether the gradient is held; its
// update then brings the answer. `other_square`: sum of squares of the other shards' slices.
bool Learner::Receive(wire::Envelope envelope, const wire::Message& message, double other_square) {
  const wire::Header header = message.header;
  const std::string peer = envelope.peer();
  // 1. Refuse the actor if its net is another one.
  Received gradient{.header = header,
                    .body = std::get<wire::Gradient>(message.body),
                    .values = message.floats(),
                    .envelope = {},
                    .other_square = other_square};
  const bool count = gradient.body.buffer > 0 || header.count == slice_.size;
  if (header.fingerprint != layout_.fingerprint() || !count) {
    ++engine_.counters().frames_refused[count ? "fingerprint" : "count"];
    outbox_.Send(peer, wire::Leave{wire::LeaveReason::kRefused, "your net is not the learner's"});
    return false;
  }
  // 2. The engine checks, judges and journals it.
  gradient.envelope = std::move(envelope);
  const auto [outcome, sender] = engine_.Receive(std::move(gradient));
  if (sender) {
    membership_.Heard(*sender, peer);
    watch_.Count(clock_.NowMs(), outcome);
  }
  if (outcome == wire::Outcome::kNone) return true;
  // 3. Answer a refusal. Under "drop" stale gradients are expected: no warning.
  if (outcome != wire::Outcome::kStale) {
    refusals_.Warn(clock_.NowMs(), fmt::format("refused a gradient of actor {}: {}", header.slot,
                                               wire::OutcomeName(outcome)));
  }
  const wire::Answer answer{.outcomes = {{header.sequence, outcome}}};
  if (sender) {
    outbox_.Add(*sender, answer);  // with the other answers of this turn
  } else {
    outbox_.Send(peer, answer);
  }
  return false;
}

void Learner::OnFetch(const wire::Header& header) {
  Member* member = engine_.SenderOf(header);
  if (!member) return;
  membership_.Heard(*member, member->peer);
  SendWeights(*member);
}

void Learner::ReloadKeys() {
  eventfd_t count;
  ::eventfd_read(options_.reload_fd, &count);
  admission_.Reload(LogLevel::kWarn);
  for (const std::uint32_t slot : admission_.Revoked(engine_.roster())) {
    membership_.Expel(slot, wire::LeaveReason::kRefused,
                      "your key is no longer on the learner's list",
                      "has a key that is no longer on the list");
  }
  if (shards_) shards_->ReloadKeys();
}

// ---- publish, answer

void Learner::Publish() {
  while (auto finished = engine_.TakeFinished(TrainingSeconds())) {
    if (beacon_) beacon_->Publish({.term = engine_.term(), .version = finished->version});
    if (finished->checkpoint) keeper_.Save(*std::move(finished->checkpoint));
    engine_.Advance();  // the applier has room again
  }
  SendReplies();
}

void Learner::SendReplies() {
  // 1. Add the replies of the engine to the answers.
  for (const auto& [slot, answer] : engine_.TakeReplies(clock_.NowNs())) {
    outbox_.Add(*engine_.roster().Find(slot), answer);
  }
  if (!first_grant_ns_ && engine_.granted()) {
    first_grant_ns_ = real_.NowNs();
    times_ = {};  // the time before is no part of training
  }
  // 2. Send the answers. An actor over tcp that holds one grant at a time waits for its weights:
  // they follow the grant.
  const Outbox::Sent sent = outbox_.SendAnswers(engine_.roster());
  const bool weights_follow = !beacon_ && config_.updates.in_flight == 1;
  for (const std::uint32_t slot : sent.granted) {
    if (weights_follow) SendWeights(*engine_.roster().Find(slot));
  }
  // 3. An actor whose answers are lost would wait for them, so it must join again.
  for (const auto& [slot, why] : sent.lost) {
    if (engine_.roster().Find(slot)) membership_.Remove(slot, why);
  }
}

void Learner::SendWeights(const Member& member) {
  if (!newest_weights_.Refresh()) return;  // overtaken by writers: the actor asks again
  const wire::SnapshotMeta& meta = newest_weights_.meta();
  outbox_.SendTensor(member, wire::Weights{.steps = meta.steps, .entropy = meta.entropy},
                     newest_weights_.values(), meta.version);
}

// Since the first grant of this term.
double Learner::TrainingSeconds() const {
  return first_grant_ns_ ? static_cast<double>(real_.NowNs() - *first_grant_ns_) / 1e9 : 0;
}

}  // namespace starling::learner
