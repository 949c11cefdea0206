// How an actor becomes a member: hello, welcome, and the memory that the learner shares.
#include <array>
#include <exception>
#include <utility>

#include "actors/learner_client.h"
#include "core/log.h"
#include "core/process.h"
#include "wire/endpoint.h"

namespace starling::actors {

namespace {

constexpr std::int64_t kWelcomeMs = 5000;  // a hello without an answer is repeated after that
constexpr std::int64_t kFirstNoteMs = 10'000, kNextNoteMs = 300'000;  // while there is no learner
constexpr std::int64_t kLastWordsMs = 2000;  // wait for the last messages of a learner that ended

}  // namespace

LearnerClient::LearnerClient(ClientOptions options)
    : options_(std::move(options)),
      real_(options_.clock ? *options_.clock : steady_clock_),
      clock_(real_) {}
LearnerClient::~LearnerClient() = default;

bool LearnerClient::Join(bool fresh) {
  const std::int64_t give_up_ms =
      clock_.NowMs() + static_cast<std::int64_t>(options_.connect_timeout_s * 1000.0);
  state_ = ClientState::kLost;
  session_.reset();
  note_ms_ = clock_.NowMs() + kFirstNoteMs;
  while (clock_.NowMs() < give_up_ms) {
    if (MustLeave()) return false;
    NoteWaiting(give_up_ms);
    if (const auto endpoint = options_.find_endpoint()) {
      if (TryJoin(*endpoint, fresh, give_up_ms)) return true;
      if (state_ != ClientState::kLost) return false;
    }
    std::array<wire::PollItem, 1> stop{{{.fd = options_.stop_fd}}};
    wire::Poll(stop, kPollMs);
    clock_.Tick();
  }
  state_ = ClientState::kUnreachable;
  return false;
}

void LearnerClient::NoteWaiting(std::int64_t give_up_ms) {
  const std::int64_t now_ms = clock_.NowMs();
  if (!options_.on_waiting || now_ms < note_ms_) return;
  note_ms_ = now_ms + kNextNoteMs;
  options_.on_waiting(give_up_ms - now_ms);
}

bool LearnerClient::TryJoin(const std::string& endpoint, bool fresh, std::int64_t give_up_ms) {
  OpenSession(endpoint);
  const wire::Hello hello{.slot = options_.slot,
                          .host = HostName(),
                          .pid = static_cast<std::uint32_t>(getpid()),
                          .fresh = fresh};
  std::int64_t asked_ms = -1;  // when hello was sent; -1: it must be
  while (clock_.NowMs() < give_up_ms && !MustLeave()) {
    // 1. Send hello once, as soon as the connection takes it.
    if (asked_ms < 0 && Send(hello)) asked_ms = clock_.NowMs();
    if (asked_ms >= 0 && clock_.NowMs() - asked_ms > kWelcomeMs) return false;
    // 2. Wait for the welcome.
    wire::ClientSocket& socket = *session_->socket;
    std::array<wire::PollItem, 1> item{{{.socket = &socket, .want_writable = asked_ms < 0}}};
    wire::Poll(item, kPollMs);
    clock_.Tick();
    wire::Envelope envelope;
    while (socket.Receive(envelope)) {
      const wire::DecodeResult decoded = wire::Decode(envelope.frames(), wire::kMaxWeights);
      if (!decoded) continue;
      // The slot has a member: the learner asks whether this hello is not an old one.
      if (std::holds_alternative<wire::Heartbeat>(decoded.message.body)) asked_ms = -1;
      Handle(std::move(envelope), decoded.message);
      if (state_ == ClientState::kJoined) return true;
      if (state_ != ClientState::kLost) return false;
    }
    NoteWaiting(give_up_ms);
    // 3. Give up if this is the endpoint of an old learner.
    if (LearnerMoved()) return false;
  }
  return false;
}

void LearnerClient::OpenSession(const std::string& endpoint) {
  session_.reset();  // which it stays if the endpoint is none
  const auto keys = options_.find_keys ? options_.find_keys() : std::nullopt;
  wire::SocketOptions with{.max_elements = wire::kMaxWeights, .linger_ms = 200};
  if (keys) {
    with.keys = keys->own;
    with.server_key = keys->server_key;
  }
  auto socket = std::make_unique<wire::ClientSocket>(context_, endpoint, with);
  session_.emplace();
  session_->endpoint = endpoint;
  session_->keys = keys;
  session_->proven = keys || wire::IsPrivate(endpoint);
  session_->socket = std::move(socket);
}

bool LearnerClient::CheckNet(std::uint64_t fingerprint, std::size_t floats) {
  // 1. Both must have built the same net.
  Session& session = *session_;
  if (fingerprint != session.header.fingerprint) {
    state_ = ClientState::kRefused;
    text_ =
        "this actor builds another net than the learner from the same configuration: "
        "are they of the same version?";
    return false;
  }
  // 2. Connect to the shards, then open the shared weights and gradient buffers.
  try {
    if (!session.welcome.shards.empty()) {
      session.shards.emplace(context_,
                             ShardLinks::Where{.others = session.welcome.shards,
                                               .learner = session.endpoint,
                                               .keys = session.keys,
                                               .header = session.header,
                                               .floats = floats,
                                               .gradient_type = session.gradient_type(),
                                               .weights_type = session.weights_type(),
                                               .fetch_again_ms = session.FetchAgainMs()},
                             clock_);
    }
    const std::size_t first = session.shards ? session.shards->first().size : floats;
    if (!session.welcome.snapshot.empty()) {
      session.reader.emplace(session.welcome.snapshot, first, fingerprint);
    }
    session.space.Open(session.welcome.buffers, floats, session.gradient_type());
    return true;
  } catch (const std::exception& error) {  // the learner has gone meanwhile
    session.reader.reset();
    session.shards.reset();
    AwaitLastWords();
    if (state_ == ClientState::kLost) LogWarn("{}", error.what());
    return false;
  }
}

// Waits for the reason why the learner has gone. A learner sends Leave before it removes its shared
// weights, so a run that is over is not mistaken for a lost learner.
void LearnerClient::AwaitLastWords() {
  const std::int64_t end = clock_.NowMs() + kLastWordsMs;
  for (std::int64_t now = clock_.NowMs(); state_ == ClientState::kJoined && now < end;
       now = clock_.NowMs()) {
    Pump(end - now);
  }
  if (state_ == ClientState::kJoined) state_ = ClientState::kLost;
}

}  // namespace starling::actors
