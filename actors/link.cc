#include "actors/link.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "core/log.h"

namespace starling::actors {

namespace {

constexpr std::size_t kMaxElements = std::size_t{1} << 28;  // of weights: 1 GiB
constexpr std::int64_t kLookMs = 20;       // between two looks for a learner that is not there yet
constexpr std::int64_t kWelcomeMs = 5000;  // a hello that is not answered for so long is repeated
constexpr std::int64_t kLastWordsMs = 2000;  // of a learner that is gone: they are under way

std::int64_t Ms(double seconds) { return static_cast<std::int64_t>(seconds * 1000.0); }

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Evenly out of all of them: those that end early in an unroll are not as the others.
void KeepWhatFits(std::vector<envs::EpisodeEnd>& ended) {
  const std::size_t all = ended.size(), most = wire::kMaxEpisodes;
  if (all <= most) return;
  static bool said = false;
  if (!std::exchange(said, true)) {
    LogWarn("{} episodes ended in one unroll; at most {} of each are counted", all, most);
  }
  for (std::size_t i = 0; i < most; ++i) ended[i] = ended[i * all / most];
  ended.resize(most);
}

}  // namespace

LearnerLink::LearnerLink(LinkOptions options) : options_(std::move(options)) {}
LearnerLink::~LearnerLink() = default;

// ---- joining

bool LearnerLink::Join() {
  const std::int64_t give_up_ms = clock_.NowMs() + Ms(options_.connect_timeout_s);
  socket_.reset();
  beacon_.reset();
  reader_.reset();
  shards_.reset();
  first_meta_ = {};
  space_.Close();
  grants_.clear();
  granted_ = false;
  fetched_.Reset();
  unanswered_ = 0;
  incarnation_ = term_ = session_ = 0;
  while (clock_.NowMs() < give_up_ms) {
    if (Leaving()) return false;
    if (const auto endpoint = options_.find_endpoint()) {
      if (TryJoin(*endpoint, give_up_ms)) return true;
      if (state_ != LinkState::kLost) return false;
    }
    std::array<wire::PollItem, 1> stop{{{.fd = options_.stop_fd}}};
    wire::Poll(stop, kLookMs);
  }
  state_ = LinkState::kNobody;
  return false;
}

bool LearnerLink::TryJoin(const std::string& endpoint, std::int64_t give_up_ms) {
  state_ = LinkState::kLost;
  endpoint_ = endpoint;
  wire::SocketOptions socket{.max_elements = kMaxElements, .linger_ms = 200};
  keys_ = options_.find_keys ? options_.find_keys() : std::nullopt;
  if (keys_) {
    socket.keys = keys_->own;
    socket.server_key = keys_->server_key;
  }
  socket_ = std::make_unique<wire::ClientSocket>(context_, endpoint, socket);
  std::int64_t asked_ms = -1;
  while (clock_.NowMs() < give_up_ms && !Leaving()) {
    const std::int64_t now = clock_.NowMs();
    if (asked_ms < 0 && Send(wire::Hello{.slot = options_.slot,
                                         .host = HostName(),
                                         .pid = static_cast<std::uint32_t>(getpid())})) {
      asked_ms = now;
    }
    if (asked_ms >= 0 && now - asked_ms > kWelcomeMs) return false;
    std::array<wire::PollItem, 1> item{{{.socket = socket_.get(), .want_writable = asked_ms < 0}}};
    wire::Poll(item, kLookMs);
    wire::Envelope envelope;
    while (socket_->Receive(envelope)) {
      const wire::DecodeResult decoded = wire::Decode(envelope.frames(), kMaxElements);
      if (!decoded) continue;
      Handle(std::move(envelope), decoded.message);
      if (state_ == LinkState::kUp) return true;
      if (state_ != LinkState::kLost) return false;
    }
    if (LearnerMoved()) return false;
  }
  return false;
}

bool LearnerLink::CheckNet(std::uint64_t fingerprint, std::size_t floats) {
  if (fingerprint != fingerprint_) {
    state_ = LinkState::kRefused;
    text_ =
        "this actor builds another net than the learner from the same configuration: "
        "are they of the same version?";
    return false;
  }
  try {
    if (!welcome_.shards.empty()) OpenShards(floats);
    const std::size_t first = shards_ ? shards_->first().size : floats;
    if (!welcome_.snapshot.empty()) reader_.emplace(welcome_.snapshot, first, fingerprint);
    space_.Open(welcome_.buffers, floats);
    return true;
  } catch (const std::exception& error) {  // the learner has gone meanwhile
    reader_.reset();
    shards_.reset();
    HearLastWords();
    if (state_ == LinkState::kLost) LogWarn("{}", error.what());
    return false;
  }
}

void LearnerLink::OpenShards(std::size_t floats) {
  shards_.emplace(context_, ShardLinks::Where{.places = welcome_.shards,
                                              .learner = endpoint_,
                                              .keys = keys_,
                                              .header = {.slot = slot_,
                                                         .incarnation = incarnation_,
                                                         .term = term_,
                                                         .session = session_,
                                                         .fingerprint = fingerprint_},
                                              .floats = floats,
                                              .fetch_again_ms = FetchAgainMs()});
}

// The learner says goodbye before it takes its weights away: that the run is over must not be
// missed.
void LearnerLink::HearLastWords() {
  const std::int64_t end = clock_.NowMs() + kLastWordsMs;
  for (std::int64_t now = clock_.NowMs(); state_ == LinkState::kUp && now < end;
       now = clock_.NowMs()) {
    Pump(end - now);
  }
  if (state_ == LinkState::kUp) state_ = LinkState::kLost;
}

// ---- pushing

bool LearnerLink::Push(const wire::Grant& grant, const wire::SnapshotMeta& meta,
                       const RolloutGradient& gradient, RolloutEpisodes episodes) {
  const std::int64_t begin = clock_.NowNs();
  wire::Gradient body{.grant = grant.number,
                      .buffer = space_.buffer(),
                      .samples = gradient.samples,
                      .norm = gradient.norm,
                      .policy_loss = gradient.loss.policy_loss,
                      .value_loss = gradient.loss.value_loss,
                      .entropy = gradient.loss.entropy,
                      .wait_us = wait_us_,
                      .refresh_us = refresh_us_,
                      .act_us = gradient.act_us,
                      .gradient_us = gradient.gradient_us,
                      .push_us = std::exchange(push_us_, 0),
                      .episodes_cut = episodes.cut,
                      .envs_replaced = episodes.replaced};
  KeepWhatFits(episodes.ended);
  for (const envs::EpisodeEnd& end : episodes.ended) {
    body.episodes.push_back(
        {.episode_return = end.episode_return, .length = static_cast<std::uint64_t>(end.length)});
  }
  const std::uint64_t sequence = ++sequence_;
  wire::SharedTensor tensor;
  if (shards_) {
    const auto values = space_.TakeValues();
    if (!PushSlices(sequence, meta.version, values)) return false;
    tensor = {values, shards_->first().size};
  } else {
    tensor = space_.TakeUnshared();
  }
  if (!SendSoon(body, tensor, meta.version, sequence)) return false;
  space_.Pushed(sequence);
  ++unanswered_;
  pushed_ms_ = clock_.NowMs();
  push_us_ = UsSince(begin);
  return Pump(0);
}

bool LearnerLink::PushSlices(std::uint64_t sequence, std::uint64_t base,
                             const std::shared_ptr<const float[]>& values) {
  while (!shards_->Push(sequence, base, values)) {
    auto items = shards_->items(/*want_writable=*/true);
    wire::Poll(items, kLookMs);
    if (!Pump(0)) return false;
  }
  return true;
}

void LearnerLink::Beat() {
  const std::int64_t now = clock_.NowMs();
  if (now - beat_ms_ < static_cast<std::int64_t>(config_.wire.heartbeat_ms)) return;
  beat_ms_ = now;
  Send(wire::Heartbeat{});  // if the queue is full the gradients in it are beats enough
}

void LearnerLink::SayGoodbye() {
  if (socket_ && state_ != LinkState::kRunOver) Send(wire::Bye{wire::ByeReason::kLeaving, ""});
}

// ---- the pump

bool LearnerLink::Send(const wire::Body& body, const wire::SharedTensor& tensor,
                       std::uint64_t version, std::uint64_t sequence) {
  const wire::Header header{.slot = slot_,
                            .incarnation = incarnation_,
                            .sequence = sequence > 0 ? sequence : sequence_ + 1,
                            .term = term_,
                            .session = session_,
                            .version = version,
                            .fingerprint = fingerprint_};
  if (!socket_->Send(wire::Encode(header, body, tensor))) return false;
  if (sequence == 0) ++sequence_;
  return true;
}

bool LearnerLink::SendSoon(const wire::Body& body, const wire::SharedTensor& tensor,
                           std::uint64_t version, std::uint64_t sequence) {
  while (!Send(body, tensor, version, sequence)) {
    std::array<wire::PollItem, 1> item{{{.socket = socket_.get(), .want_writable = true}}};
    wire::Poll(item, kLookMs);
    if (!Pump(0)) return false;
  }
  return true;
}

// Waits up to `timeout_ms` for something to happen and handles what came. False if the link is not
// up.
bool LearnerLink::Pump(std::int64_t timeout_ms) {
  if (timeout_ms > 0) {
    std::array<wire::PollItem, 3> items{
        {{.socket = socket_.get()}, {.socket = beacon_.get()}, {.fd = options_.stop_fd}}};
    wire::Poll(items, timeout_ms);
  }
  wire::Beacon beacon;
  if (beacon_) beacon_->Receive(beacon);  // it has woken us: that is all it is for
  wire::Envelope envelope;
  while (state_ == LinkState::kUp && socket_->Receive(envelope)) {
    const wire::DecodeResult decoded = wire::Decode(envelope.frames(), kMaxElements);
    if (!decoded) {
      LogWarn("the learner sent a damaged message ({}): joining again",
              wire::RefusalName(decoded.refusal));
      state_ = LinkState::kLost;
      break;
    }
    Handle(std::move(envelope), decoded.message);
  }
  WatchTime();
  Leaving();
  return state_ == LinkState::kUp;
}

// `message` is what is in the envelope.
void LearnerLink::Handle(wire::Envelope envelope, const wire::Message& message) {
  const wire::Header& header = message.header;
  heard_ms_ = clock_.NowMs();
  if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
    if (state_ == LinkState::kUp) return;
    welcome_ = *welcome;
    config_ = ParseConfig(welcome->config, "the learner's configuration");
    slot_ = header.slot;
    incarnation_ = header.incarnation;
    term_ = header.term;
    session_ = header.session;
    fingerprint_ = header.fingerprint;
    state_ = LinkState::kUp;
  } else if (const auto* bye = std::get_if<wire::Bye>(&message.body)) {
    text_ = bye->text;
    state_ = bye->reason == wire::ByeReason::kRefused   ? LinkState::kRefused
             : bye->reason == wire::ByeReason::kLeaving ? LinkState::kLost
                                                        : LinkState::kRunOver;
  } else if (header.term != term_ || header.session != session_ ||
             header.incarnation != incarnation_) {
    if (state_ == LinkState::kUp) LogInfo("the learner does not know us any more: joining again");
    state_ = LinkState::kLost;
  } else if (const auto* answer = std::get_if<wire::Answer>(&message.body)) {
    if (answer->answers != 0 && unanswered_ > 0) --unanswered_;
    space_.Answered(answer->answers);
    if (answer->outcome > wire::Outcome::kMerged) {
      LogDebug("a gradient was refused: {}", wire::OutcomeName(answer->outcome));
    }
    grants_.insert(grants_.end(), answer->grants.begin(), answer->grants.end());
    if (!answer->grants.empty() && WeightsFollow()) ExpectWeights();
  } else if (std::holds_alternative<wire::Weights>(message.body)) {
    fetched_.Came(std::move(envelope), message);
  }
}

// A gradient is held no longer than its slowest companion's grant lives; with as much again to spare.
std::int64_t LearnerLink::AnswerMs() const {
  return Ms(config_.wire.timeout_s) + 2 * Ms(config_.staleness.deadline_s);
}

std::int64_t LearnerLink::FetchAgainMs() const {
  return std::max<std::int64_t>(200, static_cast<std::int64_t>(config_.wire.fetch_after_ms));
}

std::uint32_t LearnerLink::UsSince(std::int64_t begin_ns) const {
  return static_cast<std::uint32_t>((clock_.NowNs() - begin_ns) / 1000);
}

void LearnerLink::WatchTime() {
  if (state_ != LinkState::kUp) return;
  Beat();
  const std::int64_t now = clock_.NowMs();
  // A learner that was killed says nothing; but the next one says where it is.
  if (now - looked_ms_ >= static_cast<std::int64_t>(config_.wire.heartbeat_ms)) {
    looked_ms_ = now;
    if (LearnerMoved()) {
      LogInfo("there is a new learner");
      state_ = LinkState::kLost;
      return;
    }
  }
  const std::int64_t silence_ms = Ms(config_.wire.timeout_s);
  const std::int64_t answer_ms = AnswerMs();
  if (now - heard_ms_ > silence_ms) {
    LogWarn("the learner was silent for wire.timeout_s = {} s: joining again",
            config_.wire.timeout_s);
    state_ = LinkState::kLost;
  } else if (unanswered_ > 0 && now - pushed_ms_ > answer_ms) {
    LogWarn("a gradient was not answered for {} s: joining again", answer_ms / 1000);
    state_ = LinkState::kLost;
  }
}

// It started anew elsewhere, or where it was with other keys for us.
bool LearnerLink::LearnerMoved() const {
  if (options_.find_endpoint().value_or(endpoint_) != endpoint_) return true;
  const auto keys = options_.find_keys ? options_.find_keys() : std::nullopt;
  return keys && keys != keys_;
}

bool LearnerLink::Leaving() {
  std::array<wire::PollItem, 1> stop{{{.fd = options_.stop_fd}}};
  if (!wire::Poll(stop, 0) && !(options_.abandoned && options_.abandoned())) return false;
  state_ = LinkState::kStopped;
  return true;
}

}  // namespace starling::actors
