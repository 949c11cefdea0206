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

constexpr std::size_t kMaxChecks = 32;  // gradients that wait for their checks
constexpr int kMaxDrained = 256;        // messages handled before the applier is looked at
constexpr std::int64_t kIdleMs = 50;    // longest turn of the loop if nothing happens
constexpr std::int64_t kRetryMs = 5;    // the same while an answer waits for room

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
    if ((!stopped || AwaitsCut()) && !engine_.over()) {
      checks_.Finish();
      copies_.Finish();
      OnWholeGradients();
      const bool all_read = Drain();
      membership_.OpenWhenReady();
      if (all_read) {
        membership_.ExpireGrants();
        membership_.RemoveSilent();
      }
      LimitCut();
      engine_.Advance();
    }
    admission_.Poll(socket_);
    // 3. Publish completed versions and answer.
    Publish();
    FinishCut();
    keeper_.Collect();
    if (auto spare = keeper_.TakeSpare()) engine_.Reuse(*std::move(spare));
    if (keeper_.TakeFailed()) engine_.RetryCheckpoint();
    if (keeper_.fenced_off()) throw GaveUp(keeper_.error());
    const bool ends = (stopped && !AwaitsCut()) || engine_.over();
    if (ends && engine_.idle()) return;
    reporter_.Report(StatusReporter::Moment::kRunning, times_, keeper_.newest());
  }
}

// ---- receive

// Handles the messages that have arrived, a limited number. Returns whether all were handled.
bool Learner::Drain() {
  wire::Envelope envelope;
  for (int i = 0; i < kMaxDrained; ++i) {
    if (checks_.pending() >= kMaxChecks) return false;  // the others wait in their queues
    if (!socket_.Receive(envelope)) return true;
    Handle(std::move(envelope));
    times_.receive_ns += laps_.LapNs();
    engine_.Advance();  // the judge decides after every arrival, while the applier has room
    times_.dispatch_ns += laps_.LapNs();
  }
  return false;
}

// Of a large net, the digest and the checks of a gradient are left to the background.
void Learner::Handle(wire::Envelope envelope) {
  if (!admission_.Allows(envelope)) return;
  const auto arrived = std::make_shared<Arrived>();
  arrived->envelope = std::move(envelope);
  const auto decode = [this, arrived] {
    arrived->decoded = wire::Decode(arrived->envelope.frames(), slice_.size,
                                    wire::ElementTypeOf(config_.wire.gradient));
  };
  const auto dispatch = [this, arrived] { Dispatch(std::move(*arrived)); };
  const wire::Message& message = arrived->decoded.message;
  // 1. A gradient in a message.
  if (checks_.threaded() && !arrived->envelope.frames().tensor.empty()) {
    const auto check = [this, arrived, decode] {
      decode();
      const wire::Message& decoded = arrived->decoded.message;
      const bool gradient = arrived->decoded && decoded.header.kind == wire::Kind::kGradient;
      if (!gradient || shards_) return;
      arrived->tensor = decoded.Widened();
      arrived->norm = net::CheckFinite(arrived->tensor.values, trained_);
    };
    return checks_.Run(check, dispatch);
  }
  decode();
  // 2. A gradient in shared memory is lent to the background.
  const auto* gradient = std::get_if<wire::Gradient>(&message.body);
  if (checks_.threaded() && arrived->decoded && gradient && gradient->buffer > 0) {
    const Member* sender = engine_.SenderOf(message.header);
    auto loan =
        sender && sender->buffers ? sender->buffers->Lend(gradient->buffer - 1) : std::nullopt;
    if (!loan) return dispatch();
    arrived->tensor = *std::move(loan);
    const auto check = [this, arrived] {
      arrived->norm = net::CheckFinite(arrived->tensor.values, trained_);
    };
    return checks_.Run(check, dispatch);
  }
  // 3. The last message of an actor waits for its gradients.
  const bool leave = arrived->decoded && std::holds_alternative<wire::Leave>(message.body);
  if (leave && !checks_.idle()) return checks_.Run([] {}, dispatch);
  dispatch();
}

void Learner::Dispatch(Arrived arrived) {
  // 1. Refuse messages that are damaged or not allowed.
  const wire::Envelope& envelope = arrived.envelope;
  const wire::DecodeResult& decoded = arrived.decoded;
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
      if (!shards_) return OnGradient(std::move(arrived));
      return OnSlice(std::move(arrived.envelope), wire::Message(message));
    case wire::Kind::kFetch:
      return OnFetch(message.header, std::get<wire::Fetch>(message.body));
    case wire::Kind::kHeartbeat:
      return membership_.OnHeartbeat(envelope.peer(), message.header);
    case wire::Kind::kLeave:
      return OnLeave(envelope.peer());
    case wire::Kind::kFetchState:
      return membership_.OnFetchState(message.header, std::get<wire::FetchState>(message.body));
    case wire::Kind::kActed:
      return OnActed(message.header, std::get<wire::Acted>(message.body));
    case wire::Kind::kState:
      return OnState(message.header, std::get<wire::State>(message.body));
    default:
      ++engine_.counters().frames_refused["kind"];
      return;
  }
}

void Learner::OnGradient(Arrived arrived) { Receive(std::move(arrived), /*other_square=*/0); }

// Passes a gradient to the engine and answers a refusal. Returns whether the gradient is held; its
// update then brings the answer. `other_square`: sum of squares of the other shards' slices.
bool Learner::Receive(Arrived arrived, double other_square) {
  const wire::Message& message = arrived.decoded.message;
  const wire::Header header = message.header;
  const std::string peer = arrived.envelope.peer();
  // 1. Refuse the actor if its net is another one.
  Received gradient{.header = header,
                    .body = std::get<wire::Gradient>(message.body),
                    .tensor = std::move(arrived.tensor),
                    .other_square = other_square,
                    .norm = arrived.norm};
  const bool count = gradient.body.buffer > 0 || header.count == slice_.size;
  if (header.fingerprint != layout_.fingerprint() || !count) {
    ++engine_.counters().frames_refused[count ? "fingerprint" : "count"];
    outbox_.Send(peer, wire::Leave{wire::LeaveReason::kRefused, "your net is not the learner's"});
    return false;
  }
  // 2. The engine checks, judges and journals it.
  if (gradient.body.buffer == 0) {
    if (gradient.tensor.values.empty()) gradient.tensor = message.Widened();
    gradient.tensor = wire::HoldWith(std::move(arrived.envelope), std::move(gradient.tensor));
  }
  const bool wants_weights = gradient.body.weights != 0;
  const auto [outcome, sender] = engine_.Receive(std::move(gradient));
  if (sender) {
    sender->wants_weights |= wants_weights;
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

void Learner::OnFetch(const wire::Header& header, const wire::Fetch& fetch) {
  Member* member = engine_.SenderOf(header);
  if (!member) return;
  membership_.Heard(*member, member->peer);
  if (config_.staleness.delayed()) {
    if (const auto copy = newest_weights_.CopyOf(fetch.version)) {
      return SendCopy(*member, copy->meta, copy->values);
    }
  }
  SendWeights(*member);
}

// The answer, a grant of the newest version, is one of this turn's; over tcp weights follow it.
void Learner::OnActed(const wire::Header& header, const wire::Acted& acted) {
  Member* member = engine_.SenderOf(header);
  if (!member) return;
  membership_.Heard(*member, member->peer);
  member->wants_weights |= acted.weights != 0;
  engine_.Acted(*member, acted.grant);
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
    if (finished->checkpoint) SaveCheckpoint(*std::move(finished->checkpoint));
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
  // 2. Send the answers, and weights behind the grants of those that wait for both.
  const Outbox::Sent sent = outbox_.SendAnswers(engine_.roster());
  for (const std::uint32_t slot : sent.want_weights) SendWeights(*engine_.roster().Find(slot));
  // 3. An actor whose answers are lost would wait for them, so it must join again.
  for (const auto& [slot, why] : sent.lost) {
    if (engine_.roster().Find(slot)) membership_.Remove(slot, why);
  }
}

// Sends the newest weights, once there is a copy of them.
void Learner::SendWeights(Member& member) {
  if (std::exchange(member.weights_due, true)) return;
  copy_for_.push_back(member.slot);
  if (!copying_) CopyWeights();  // the one under way may be too old
}

// Makes a copy of the newest weights unless there is one, and sends it to all that wait for it.
void Learner::CopyWeights() {
  copied_for_ = std::exchange(copy_for_, {});
  for (const std::uint32_t slot : copied_for_) {
    if (Member* member = engine_.roster().Find(slot)) member->weights_due = false;
  }
  if (newest_weights_.fresh()) return SendCopies();
  copying_ = true;
  copies_.Run([this] { newest_weights_.Refresh(); },
              [this] {
                copying_ = false;
                SendCopies();
                if (!copy_for_.empty()) CopyWeights();
              });
}

void Learner::SendCopies() {
  const wire::SnapshotMeta& meta = newest_weights_.meta();
  for (const std::uint32_t slot : std::exchange(copied_for_, {})) {
    const Member* member = engine_.roster().Find(slot);
    if (!member || meta.term == 0) continue;  // overtaken by writers: the actor asks again
    SendCopy(*member, meta, newest_weights_.values());
  }
}

void Learner::SendCopy(const Member& member, const wire::SnapshotMeta& meta,
                       const wire::SharedTensor& values) {
  outbox_.SendTensor(member, wire::Weights{.steps = meta.steps, .entropy = meta.entropy}, values,
                     meta.version);
}

// Since the first grant of this term.
double Learner::TrainingSeconds() const {
  return first_grant_ns_ ? static_cast<double>(real_.NowNs() - *first_grant_ns_) / 1e9 : 0;
}

}  // namespace starling::learner
