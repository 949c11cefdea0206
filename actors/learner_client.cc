#include "actors/learner_client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "actors/gradient_message.h"
#include "core/log.h"

namespace starling::actors {

namespace {

constexpr std::size_t kMaxElements = std::size_t{1} << 28;  // of weights: 1 GiB
constexpr std::int64_t kPollMs = 20;       // longest wait while there is no learner yet
constexpr std::int64_t kWelcomeMs = 5000;  // a hello without an answer is repeated after that
constexpr std::int64_t kLastWordsMs =
    2000;  // messages of a learner that is gone arrive within that

std::int64_t Ms(double seconds) { return static_cast<std::int64_t>(seconds * 1000.0); }

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

ClientState StateAfter(wire::LeaveReason reason) {
  switch (reason) {
    case wire::LeaveReason::kRefused:
      return ClientState::kRefused;
    case wire::LeaveReason::kLeaving:
      return ClientState::kLost;
    default:
      return ClientState::kRunOver;
  }
}

}  // namespace

LearnerClient::LearnerClient(ClientOptions options)
    : options_(std::move(options)),
      wall_(options_.clock ? *options_.clock : steady_clock_),
      clock_(wall_) {}
LearnerClient::~LearnerClient() = default;

// ---- join

bool LearnerClient::Join() {
  const std::int64_t give_up_ms = clock_.NowMs() + Ms(options_.connect_timeout_s);
  state_ = ClientState::kLost;
  session_.reset();
  while (clock_.NowMs() < give_up_ms) {
    if (MustLeave()) return false;
    if (const auto endpoint = options_.find_endpoint()) {
      if (TryJoin(*endpoint, give_up_ms)) return true;
      if (state_ != ClientState::kLost) return false;
    }
    std::array<wire::PollItem, 1> stop{{{.fd = options_.stop_fd}}};
    wire::Poll(stop, kPollMs);
    clock_.Tick();
  }
  state_ = ClientState::kUnreachable;
  return false;
}

bool LearnerClient::TryJoin(const std::string& endpoint, std::int64_t give_up_ms) {
  OpenSession(endpoint);
  const wire::Hello hello{
      .slot = options_.slot, .host = HostName(), .pid = static_cast<std::uint32_t>(getpid())};
  std::optional<std::int64_t> asked_ms;
  while (clock_.NowMs() < give_up_ms && !MustLeave()) {
    // 1. Say hello once, as soon as the connection takes it.
    if (!asked_ms && Send(hello)) asked_ms = clock_.NowMs();
    if (asked_ms && clock_.NowMs() - *asked_ms > kWelcomeMs) return false;
    // 2. Wait for the welcome.
    wire::ClientSocket& socket = *session_->socket;
    std::array<wire::PollItem, 1> item{{{.socket = &socket, .want_writable = !asked_ms}}};
    wire::Poll(item, kPollMs);
    clock_.Tick();
    wire::Envelope envelope;
    while (socket.Receive(envelope)) {
      const wire::DecodeResult decoded = wire::Decode(envelope.frames(), kMaxElements);
      if (!decoded) continue;
      Handle(std::move(envelope), decoded.message);
      if (state_ == ClientState::kJoined) return true;
      if (state_ != ClientState::kLost) return false;
    }
    // 3. It may have been the endpoint of a learner that is gone.
    if (LearnerMoved()) return false;
  }
  return false;
}

void LearnerClient::OpenSession(const std::string& endpoint) {
  session_.emplace();
  session_->endpoint = endpoint;
  session_->keys = options_.find_keys ? options_.find_keys() : std::nullopt;
  wire::SocketOptions socket{.max_elements = kMaxElements, .linger_ms = 200};
  if (session_->keys) {
    socket.keys = session_->keys->own;
    socket.server_key = session_->keys->server_key;
  }
  session_->socket = std::make_unique<wire::ClientSocket>(context_, endpoint, socket);
}

bool LearnerClient::CheckNet(std::uint64_t fingerprint, std::size_t floats) {
  Session& session = *session_;
  if (fingerprint != session.header.fingerprint) {
    state_ = ClientState::kRefused;
    text_ =
        "this actor builds another net than the learner from the same configuration: "
        "are they of the same version?";
    return false;
  }
  try {
    if (!session.welcome.shards.empty()) OpenShards(floats);
    const std::size_t first = session.shards ? session.shards->first().size : floats;
    if (!session.welcome.snapshot.empty()) {
      session.reader.emplace(session.welcome.snapshot, first, fingerprint);
    }
    session.space.Open(session.welcome.buffers, floats);
    return true;
  } catch (const std::exception& error) {  // the learner has gone meanwhile
    session.reader.reset();
    session.shards.reset();
    AwaitLastWords();
    if (state_ == ClientState::kLost) LogWarn("{}", error.what());
    return false;
  }
}

void LearnerClient::OpenShards(std::size_t floats) {
  session_->shards.emplace(context_,
                           ShardLinks::Where{.places = session_->welcome.shards,
                                             .learner = session_->endpoint,
                                             .keys = session_->keys,
                                             .header = session_->header,
                                             .floats = floats,
                                             .fetch_again_ms = FetchAgainMs()},
                           clock_);
}

// The learner says goodbye before it removes its shared weights: "the run is over" must not be
// missed.
void LearnerClient::AwaitLastWords() {
  const std::int64_t end = clock_.NowMs() + kLastWordsMs;
  for (std::int64_t now = clock_.NowMs(); state_ == ClientState::kJoined && now < end;
       now = clock_.NowMs()) {
    Pump(end - now);
  }
  if (state_ == ClientState::kJoined) state_ = ClientState::kLost;
}

// ---- send

bool LearnerClient::Push(const wire::Grant& grant, const wire::SnapshotMeta& meta,
                         const RolloutGradient& gradient, RolloutEpisodes episodes) {
  const std::int64_t begin = wall_.NowNs();
  Session& session = *session_;
  // 1. Describe the gradient.
  wire::Gradient body = GradientMessage(gradient, std::move(episodes));
  body.grant = grant.number;
  body.buffer = session.space.buffer();
  body.wait_us = wait_us_;
  body.refresh_us = refresh_us_;
  body.push_us = std::exchange(push_us_, 0);
  // 2. Send it with the values that the learner does not have yet.
  const std::uint64_t sequence = ++session.sequence;
  wire::SharedTensor tensor;
  if (session.shards) {
    const auto values = session.space.TakeValues();
    if (!PushSlices(sequence, meta.version, values)) return false;
    tensor = {values, session.shards->first().size};
  } else {
    tensor = session.space.TakeUnshared();
  }
  if (!SendSoon(sequence, body, tensor, meta.version)) return false;
  // 3. Expect an answer.
  session.space.Pushed(sequence);
  ++session.unanswered;
  session.deadlines.answer = clock_.NowMs() + AnswerMs();
  push_us_ = UsSince(begin);
  return Pump(0);
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

void LearnerClient::Beat() {
  const std::int64_t now = wall_.NowMs();
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

// Waits up to `timeout_ms` for something to happen and handles what came. Returns whether it is
// still a member.
bool LearnerClient::Pump(std::int64_t timeout_ms) {
  Session& session = *session_;
  // 1. Wait.
  if (timeout_ms > 0) {
    std::array<wire::PollItem, 3> items{{{.socket = session.socket.get()},
                                         {.socket = session.beacon.get()},
                                         {.fd = options_.stop_fd}}};
    wire::Poll(items, timeout_ms);
  }
  clock_.Tick();
  wire::Beacon beacon;
  if (session.beacon) session.beacon->Receive(beacon);  // its only purpose is to end the wait
  // 2. Handle every message that has come.
  wire::Envelope envelope;
  while (state_ == ClientState::kJoined && session.socket->Receive(envelope)) {
    const wire::DecodeResult decoded = wire::Decode(envelope.frames(), kMaxElements);
    if (decoded) {
      Handle(std::move(envelope), decoded.message);
    } else {
      Lose(fmt::format("the learner sent a damaged message ({}): joining again",
                       wire::RefusalName(decoded.refusal)));
    }
  }
  // 3. Only then look at the clock: a silent learner has nothing unread here.
  CheckDeadlines();
  MustLeave();
  return state_ == ClientState::kJoined;
}

// `message` points into the envelope.
void LearnerClient::Handle(wire::Envelope envelope, const wire::Message& message) {
  Session& session = *session_;
  const wire::Header& header = message.header;
  if (state_ == ClientState::kJoined) {
    session.deadlines.silence = clock_.NowMs() + Ms(session.config.wire.timeout_s);
  }
  if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
    if (state_ != ClientState::kJoined) OnWelcome(header, *welcome);
  } else if (const auto* leave = std::get_if<wire::Leave>(&message.body)) {
    text_ = leave->text;
    state_ = StateAfter(leave->reason);
  } else if (header.term != session.header.term || header.session != session.header.session ||
             header.incarnation != session.header.incarnation) {
    if (state_ == ClientState::kJoined)
      LogInfo("the learner does not know us any more: joining again");
    state_ = ClientState::kLost;
  } else if (const auto* answer = std::get_if<wire::Answer>(&message.body)) {
    OnAnswer(*answer);
  } else if (std::holds_alternative<wire::Weights>(message.body)) {
    session.fetched.Came(std::move(envelope), message);
  }
}

void LearnerClient::OnWelcome(const wire::Header& header, const wire::Welcome& welcome) {
  session_->welcome = welcome;
  session_->config = ParseConfig(welcome.config, "the learner's configuration");
  session_->header = {.slot = header.slot,
                      .incarnation = header.incarnation,
                      .term = header.term,
                      .session = header.session,
                      .fingerprint = header.fingerprint};
  session_->deadlines.silence = clock_.NowMs() + Ms(session_->config.wire.timeout_s);
  state_ = ClientState::kJoined;
}

void LearnerClient::OnAnswer(const wire::Answer& answer) {
  if (answer.answers != 0 && session_->unanswered > 0) --session_->unanswered;
  session_->space.Answered(answer.answers);
  if (answer.outcome > wire::Outcome::kMerged) {
    LogDebug("a gradient was refused: {}", wire::OutcomeName(answer.outcome));
  }
  session_->grants.insert(session_->grants.end(), answer.grants.begin(), answer.grants.end());
  if (!answer.grants.empty() && WeightsFollowGrants()) ExpectWeights();
}

// ---- time

void LearnerClient::CheckDeadlines() {
  if (state_ != ClientState::kJoined) return;
  Beat();
  Deadlines& deadlines = session_->deadlines;
  const std::int64_t now = clock_.NowMs();
  // A killed learner says nothing, but its successor announces its endpoint.
  if (now >= deadlines.endpoint) {
    deadlines.endpoint = now + static_cast<std::int64_t>(session_->config.wire.heartbeat_ms);
    if (LearnerMoved()) {
      LogInfo("there is a new learner");
      state_ = ClientState::kLost;
      return;
    }
  }
  if (now > deadlines.silence) {
    Lose(fmt::format("the learner was silent for wire.timeout_s = {} s: joining again",
                     session_->config.wire.timeout_s));
  } else if (session_->unanswered > 0 && now > deadlines.answer) {
    Lose(fmt::format("a gradient was not answered for {} s: joining again", AnswerMs() / 1000));
  }
}

void LearnerClient::Lose(const std::string& why) {
  LogWarn("{}", why);
  state_ = ClientState::kLost;
}

// A gradient is held no longer than the slowest grant beside it lives; the same again is to spare.
std::int64_t LearnerClient::AnswerMs() const {
  return Ms(session_->config.wire.timeout_s) + 2 * Ms(session_->config.staleness.deadline_s);
}

std::int64_t LearnerClient::FetchAgainMs() const {
  constexpr std::int64_t kMinMs = 200;
  return std::max(kMinMs, static_cast<std::int64_t>(session_->config.wire.fetch_after_ms));
}

std::uint32_t LearnerClient::UsSince(std::int64_t begin_ns) const {
  return static_cast<std::uint32_t>((wall_.NowNs() - begin_ns) / 1000);
}

// It has started anew elsewhere, or in the same place with other keys for its actors.
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
