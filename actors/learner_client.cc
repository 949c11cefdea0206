#include "actors/learner_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/log.h"

namespace starling::actors {

namespace {

constexpr std::int64_t kPatienceMs = 1000;  // an actor that must leave waits so long for an answer
constexpr std::int64_t kWaitMs = 100;       // longest wait between two ticks of the clock
static_assert(kWaitMs * 1'000'000 < RunningClock::kMaxTickNs);

std::int64_t Ms(double seconds) { return static_cast<std::int64_t>(seconds * 1000.0); }

ClientState StateAfter(wire::LeaveReason reason, bool stays) {
  switch (reason) {
    case wire::LeaveReason::kShuttingDown:
      return stays ? ClientState::kLost : ClientState::kRunOver;
    case wire::LeaveReason::kRefused:
      return ClientState::kRefused;
    case wire::LeaveReason::kLeaving:
      return ClientState::kLost;
    default:
      return ClientState::kRunOver;
  }
}

}  // namespace

// ---- send

bool LearnerClient::Push(const wire::Grant& grant, const wire::SnapshotMeta& meta,
                         std::uint64_t played, const RolloutGradient& gradient,
                         const RolloutEpisodes& episodes) {
  const std::int64_t begin = real_.NowNs();
  Session& session = *session_;
  // 1. Describe the gradient.
  wire::Gradient body = GradientMessage(gradient, episodes);
  body.grant = grant.number;
  body.use = grant.use;
  body.played = played;
  body.buffer = session.space.buffer();
  // If the next grant will be waited for, so will its weights. The next gradient of an unroll
  // computes on newer ones in any case.
  const bool waits = session.grants.empty() || session.far_grants > 0;
  const bool reuses = session.config.reuses_data();
  const bool newest = !session.config.staleness.delayed();  // else their version is asked for
  body.weights = !session.reader && newest && (waits || reuses) ? 1 : 0;
  body.wait_us = std::exchange(wait_us_, 0);
  body.refresh_us = std::exchange(refresh_us_, 0);
  body.push_us = std::exchange(push_us_, 0);
  // 2. Send it with the values that the learner does not have yet.
  const std::uint64_t sequence = ++session.sequence;
  wire::SharedTensor tensor;
  if (session.shards) {
    const auto values = session.space.TakeValues();
    if (!PushSlices(sequence, meta.version, values)) return false;
    tensor = {values, session.shards->first().size, session.gradient_type()};
  } else {
    tensor = session.space.TakeUnshared();
  }
  if (!SendSoon(sequence, body, tensor, meta.version)) return false;
  // 3. Expect an answer.
  session.space.Pushed(sequence);
  ++session.unanswered;
  session.deadlines.answer = clock_.NowMs() + session.AnswerMs();
  push_us_ = UsSince(begin);
  if (!Pump(0)) return false;
  if (session.shards && reuses && !session.grants.empty()) {
    session.shards->Prefetch(session.grants.back().version);
  }
  return true;
}

bool LearnerClient::PushSlices(std::uint64_t sequence, std::uint64_t base,
                               const std::shared_ptr<const float[]>& values) {
  while (!session_->shards->Push(sequence, base, values)) {
    auto items = session_->shards->items(/*want_writable=*/true);
    wire::Poll(items, kPollMs);
    if (!Pump(0)) return false;
  }
  return true;
}

void LearnerClient::BeatWaiting(std::int64_t asked_ms) {
  Beat();
  if (asked_ms > kPatienceMs && MustLeave()) throw AskedToLeave();
}

void LearnerClient::Beat() {
  const std::int64_t now = real_.NowMs();
  if (now < session_->deadlines.beat) return;
  session_->deadlines.beat = now + static_cast<std::int64_t>(session_->config.wire.heartbeat_ms);
  Send(wire::Heartbeat{});  // if the queue is full, the gradients in it are signs of life
}

void LearnerClient::SayGoodbye() {
  if (session_ && state_ != ClientState::kRunOver)
    Send(wire::Leave{wire::LeaveReason::kLeaving, ""});
}

bool LearnerClient::Send(const wire::Body& body) {
  if (!SendMessage(session_->sequence + 1, body)) return false;
  ++session_->sequence;
  return true;
}

// Returns false if the queue is full.
bool LearnerClient::SendMessage(std::uint64_t sequence, const wire::Body& body,
                                const wire::SharedTensor& tensor, std::uint64_t version) {
  wire::Header header = session_->header;
  header.sequence = sequence;
  header.version = version;
  return session_->socket->Send(wire::Encode(header, body, tensor));
}

// Waits for room in the queue. Returns false if the state has changed.
bool LearnerClient::SendSoon(std::uint64_t sequence, const wire::Body& body,
                             const wire::SharedTensor& tensor, std::uint64_t version) {
  while (!SendMessage(sequence, body, tensor, version)) {
    std::array<wire::PollItem, 1> item{{{.socket = session_->socket.get(), .want_writable = true}}};
    wire::Poll(item, kPollMs);
    if (!Pump(0)) return false;
  }
  return true;
}

// ---- receive

// Waits up to `timeout_ms`, at most kWaitMs, for a message, then handles all that have arrived.
// Returns whether the actor is still a member.
bool LearnerClient::Pump(std::int64_t timeout_ms) {
  Session& session = *session_;
  // 1. Wait.
  if (timeout_ms > 0) {
    std::array<wire::PollItem, 3> items{{{.socket = session.socket.get()},
                                         {.socket = session.beacon.get()},
                                         {.fd = options_.stop_fd}}};
    wire::Poll(items, std::min(timeout_ms, kWaitMs));
  }
  clock_.Tick();
  wire::Beacon beacon;
  if (session.beacon) session.beacon->Receive(beacon);  // its only purpose is to end the wait
  // 2. Handle every message that has arrived.
  wire::Envelope envelope;
  while (state_ == ClientState::kJoined && session.socket->Receive(envelope)) {
    const wire::DecodeResult decoded =
        wire::Decode(envelope.frames(), wire::kMaxWeights, session.weights_type());
    if (decoded) {
      Handle(std::move(envelope), decoded.message);
    } else {
      Lose(fmt::format("the learner sent a damaged message ({}): joining again",
                       wire::RefusalName(decoded.refusal)));
    }
  }
  // 3. Only then look at the clock: a silent learner has nothing unread here.
  CheckDeadlines();
  if (state_ == ClientState::kJoined) MustLeave();
  return state_ == ClientState::kJoined;
}

// Handles one message. `message` points into `envelope`.
void LearnerClient::Handle(wire::Envelope envelope, const wire::Message& message) {
  Session& session = *session_;
  const wire::Header& header = message.header;
  // 1. Every message shows that the learner is alive.
  if (state_ == ClientState::kJoined) {
    session.deadlines.silence = clock_.NowMs() + Ms(session.config.wire.timeout_s);
    session.deadlines.bytes = session.socket->BytesReceived();
  }
  // 2. A welcome or a leave needs no membership; all others must be for this membership.
  if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
    if (state_ != ClientState::kJoined) OnWelcome(header, *welcome);
  } else if (const auto* leave = std::get_if<wire::Leave>(&message.body)) {
    text_ = leave->text;
    state_ = StateAfter(leave->reason, options_.stays);
  } else if (header.term != session.header.term || header.session != session.header.session ||
             header.incarnation != session.header.incarnation) {
    if (state_ == ClientState::kJoined) {
      LogInfo("this actor is no longer a member of the learner's run: joining again");
    }
    state_ = ClientState::kLost;
  } else if (const auto* answer = std::get_if<wire::Answer>(&message.body)) {
    OnAnswer(*answer);
  } else if (std::holds_alternative<wire::Weights>(message.body)) {
    session.fetched.Add(std::move(envelope), message);
  } else if (const auto* state = std::get_if<wire::State>(&message.body)) {
    OnState(*state);
  }
}

void LearnerClient::OnWelcome(const wire::Header& header, const wire::Welcome& welcome) {
  session_->welcome = welcome;
  session_->config = ParseConfig(welcome.config, "the learner's configuration");
  if (!session_->proven && !DiscardPaths()) return;
  session_->header = {.slot = header.slot,
                      .incarnation = header.incarnation,
                      .term = header.term,
                      .session = header.session,
                      .fingerprint = header.fingerprint};
  session_->deadlines.silence = clock_.NowMs() + Ms(session_->config.wire.timeout_s);
  state_ = ClientState::kJoined;
}

// The files and sockets of this host that a welcome names are opened for a proven learner only. For
// any other, weights and gradients travel in messages. Returns false if that is not possible.
bool LearnerClient::DiscardPaths() {
  constexpr const char* kWhy =
      "other users may listen there; use a directory that only you may "
      "write to for wire.endpoint";
  wire::Welcome& welcome = session_->welcome;
  if (!welcome.snapshot.empty()) {
    LogWarn("the shared memory of the learner at {} is not used: {}", session_->endpoint, kWhy);
  }
  welcome.snapshot.clear(), welcome.beacon.clear(), welcome.buffers.clear();
  for (wire::ShardAddress& shard : welcome.shards) {
    shard.snapshot.clear();
    if (shard.endpoint.starts_with("tcp://")) continue;
    state_ = ClientState::kRefused;
    text_ = fmt::format("the shards of the learner at {} have sockets of this host: {}",
                        session_->endpoint, kWhy);
    return false;
  }
  return true;
}

void LearnerClient::OnAnswer(const wire::Answer& answer) {
  for (const wire::GradientOutcome& one : answer.outcomes) {
    if (session_->unanswered > 0) --session_->unanswered;
    session_->space.Answered(one.gradient);
    ++outcomes_.counts[static_cast<std::size_t>(one.outcome)];
    if (one.outcome > wire::Outcome::kMerged) {
      outcomes_.last_refusal = one.outcome;
      LogDebug("a gradient was refused: {}", wire::OutcomeName(one.outcome));
    }
  }
  if (answer.cut > 0) session_->cut = answer.cut;
  for (const wire::Grant& grant : answer.grants) AddGrant(grant);
  if (answer.weights > 0) session_->ExpectWeights(clock_.NowMs());
}

// A grant with the number of one that is here replaces it.
void LearnerClient::AddGrant(const wire::Grant& grant) {
  auto& grants = session_->grants;
  const auto here = std::ranges::find(grants, grant.number, &wire::Grant::number);
  here != grants.end() ? void(*here = grant) : grants.push_back(grant);
}

// ---- time

void LearnerClient::CheckDeadlines() {
  if (state_ != ClientState::kJoined) return;
  Beat();
  Deadlines& deadlines = session_->deadlines;
  const std::int64_t now = clock_.NowMs();
  // 1. A killed learner sends nothing, but its successor announces its endpoint.
  if (now >= deadlines.endpoint) {
    deadlines.endpoint = now + static_cast<std::int64_t>(session_->config.wire.heartbeat_ms);
    if (LearnerMoved()) {
      LogInfo("there is a new learner");
      state_ = ClientState::kLost;
      return;
    }
  }
  // 2. Weights that are still arriving are a sign of life.
  const std::int64_t limit_ms = Ms(session_->config.wire.timeout_s);
  if (now > deadlines.silence - limit_ms / 2 && IsArriving()) deadlines.silence = now + limit_ms;
  // 3. A learner that is silent, or does not answer a gradient, is lost.
  if (now > deadlines.silence) {
    Lose(fmt::format("the learner was silent for wire.timeout_s = {} s: joining again",
                     session_->config.wire.timeout_s));
  } else if (session_->unanswered > 0 && now > deadlines.answer) {
    Lose(fmt::format("a gradient was not answered for {} s: joining again",
                     session_->AnswerMs() / 1000));
  }
}

// Returns whether bytes have arrived since the last call, without a whole message since then.
bool LearnerClient::IsArriving() {
  const auto bytes = session_->socket->BytesReceived();
  const auto before = std::exchange(session_->deadlines.bytes, bytes);
  return before && bytes && *before != *bytes;
}

void LearnerClient::Lose(const std::string& why) {
  LogWarn("{}", why);
  state_ = ClientState::kLost;
}

std::int64_t LearnerClient::Session::AnswerMs() const {
  // An update may wait for all grants of another actor, and that for its own.
  const std::int64_t lives = config.updates.in_flight + (config.reuses_data() ? 2 : 1);
  return Ms(config.wire.timeout_s) + lives * Ms(config.staleness.deadline_s);
}

std::int64_t LearnerClient::Session::GrantMs() const {
  if (!config.staleness.delayed()) return AnswerMs();
  const auto at_once =
      static_cast<std::int64_t>(config.staleness.under_way(config.updates.gradients));
  return AnswerMs() * (1 + config.actors.count * config.updates.in_flight / at_once);
}

std::int64_t LearnerClient::Session::FetchAgainMs() const {
  constexpr std::int64_t kMinMs = 200;
  return std::max(kMinMs, static_cast<std::int64_t>(config.wire.fetch_after_ms));
}

std::uint32_t LearnerClient::UsSince(std::int64_t begin_ns) const {
  return static_cast<std::uint32_t>((real_.NowNs() - begin_ns) / 1000);
}

// Returns whether a new learner has another endpoint, or the same one with other keys.
bool LearnerClient::LearnerMoved() const {
  if (options_.find_endpoint().value_or(session_->endpoint) != session_->endpoint) return true;
  const auto keys = options_.find_keys ? options_.find_keys() : std::nullopt;
  return keys && keys != session_->keys;
}

bool LearnerClient::MustLeave() {
  std::array<wire::PollItem, 1> stop{{{.fd = options_.stop_fd}}};
  if (!wire::Poll(stop, 0) && !(options_.abandoned && options_.abandoned())) return false;
  state_ = ClientState::kStopped;
  return true;
}

}  // namespace starling::actors
