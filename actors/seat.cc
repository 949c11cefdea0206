#include "actors/seat.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/signals_blocked.h"
#include "net/norm.h"

namespace starling::actors {
namespace {

constexpr std::chrono::milliseconds kAttend{50};  // the thread listens this often

// Throws UserError where ParameterLayout would CHECK: a learner may be no friend.
net::ParameterLayout LayoutOf(const std::vector<wire::NamedShape>& tensors) {
  net::ParameterLayout layout;
  std::vector<std::string> names;
  for (const wire::NamedShape& tensor : tensors) {
    std::size_t size = 1;
    for (const std::int64_t dimension : tensor.shape) {
      const bool fits = dimension >= 1 && std::cmp_less_equal(dimension, wire::kMaxWeights);
      size = fits ? size * static_cast<std::size_t>(dimension) : SIZE_MAX;
      if (size > wire::kMaxWeights) break;
    }
    if (size > wire::kMaxWeights - layout.size() ||
        std::ranges::find(names, tensor.name) != names.end()) {
      throw UserError(fmt::format("the learner's net cannot be: its tensor {}", tensor.name));
    }
    names.push_back(tensor.name);
    layout.Add(tensor.name, tensor.shape);
  }
  return layout;
}

ClientOptions WithStop(ClientOptions options, int stop_fd) {
  options.stop_fd = stop_fd;
  return options;
}

std::chrono::milliseconds Duration(WaitMs wait_ms) {
  constexpr WaitMs kYear = 365LL * 86'400'000;
  return std::chrono::milliseconds(std::min(wait_ms, kYear));
}

// The newest that a message has room for.
RolloutEpisodes EpisodesOf(const std::vector<envs::EpisodeEnd>& ended) {
  const std::size_t kept = std::min(ended.size(), wire::kMaxEpisodes);
  return {.ended = {ended.end() - static_cast<std::ptrdiff_t>(kept), ended.end()},
          .untold = ended.size() - kept};
}

// Copies `from`, unless it is `to`, a block at a time, and returns the sum of its squares.
double Copy(std::span<const float> from, std::span<float> to) {
  constexpr std::size_t kBlock = 4096;  // in the first cache when it is summed
  double sum = 0;
  for (std::size_t i = 0; i < from.size(); i += kBlock) {
    const std::size_t size = std::min(kBlock, from.size() - i);
    const auto block = to.subspan(i, size);
    if (from.data() != to.data()) std::memcpy(block.data(), &from[i], size * sizeof(float));
    const double norm = net::CheckFinite(block).norm;
    sum += norm * norm;
  }
  return sum;
}

[[noreturn]] void ThrowNotFinite(const std::string& name, std::span<const float> values) {
  const auto bad = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  throw UserError(fmt::format("gradient of {}: number {} of {} is {}", name, bad - values.begin(),
                              values.size(), *bad));
}

}  // namespace

Seat::Seat(ClientOptions options)
    : connect_timeout_s_(options.connect_timeout_s),
      client_(WithStop(std::move(options), stop_.fd())) {
  const SignalsBlocked blocked;  // they are for the threads of the program
  thread_ = std::thread([this] { Run(); });
}

Seat::~Seat() {
  stop_.Notify();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  thread_.join();
  client_.SayGoodbye();
}

// ---- the thread

void Seat::Run() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (!joining_) {
      Attend();
      wake_.wait_for(lock, kAttend);
      continue;
    }
    lock.unlock();
    std::optional<Membership> member;
    std::exception_ptr failed;
    try {
      member = TryJoin();
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    if (member && layout_.size() == 0) layout_ = member->layout;
    if (member) member_ = *std::move(member);
    failed_ = failed;
    called_ms_ = clock_.NowMs();
    joining_ = false;
    joined_.notify_all();
  }
}

// Listens and beats while the program computes.
void Seat::Attend() {
  if (!member()) return;
  hung_ = Hangs();
  if (hung_) return;
  try {
    client_.Attend();
  } catch (...) {
    failed_ = std::current_exception();
  }
}

bool Seat::Hangs() const {
  const double limit_s = member_.config.staleness.deadline_s + member_.config.wire.timeout_s;
  return static_cast<double>(clock_.NowMs() - called_ms_) > limit_s * 1000;
}

// Joins, and opens the memory that the learner shares. Returns nullopt if the seat is no member
// then; the client's state is the reason.
std::optional<Seat::Membership> Seat::TryJoin() {
  // 1. Join.
  if (!client_.Join()) return std::nullopt;
  // 2. Look at the net.
  Membership member{.config = client_.config(), .slot = client_.slot(), .layout = {}};
  const auto refuse = [this](const std::string& why) {
    client_.SayGoodbye();
    throw UserError(why);
  };
  // A learner that is not ours to trust may send anything.
  const wire::Welcome& welcome = client_.welcome();
  if (client_.term() == 0 || !welcome.shards.empty()) refuse("the learner's welcome cannot be");
  if (!member.config.net.external()) {
    refuse(
        fmt::format("this run trains a net of Starling's own (net.kind = \"{}\"), whose actors are "
                    "starling-actor; a seat is for net.kind = \"external\"",
                    NameOf(member.config.net.kind)));
  }
  member.layout = LayoutOf(welcome.tensors);
  if (member.layout.size() == 0) refuse("the learner's net cannot be: it has no tensors");
  if (layout_.size() > 0 && member.layout.fingerprint() != layout_.fingerprint()) {
    refuse("there is a new learner, and its net is another: start this actor anew");
  }
  // 3. Open the memory.
  if (!client_.CheckNet(member.layout.fingerprint(), member.layout.size())) return std::nullopt;
  return member;
}

// ---- the caller

Seat::Outcome Seat::Join(WaitMs wait_ms) {
  Call call(*this);
  return AwaitJoined(call.lock, wait_ms);
}

Seat::Outcome Seat::StateOutcome() {
  switch (client_.state()) {
    case ClientState::kJoined:
      return Outcome::kDone;
    case ClientState::kLost:
      return Outcome::kLost;
    case ClientState::kRefused:
      throw UserError("the learner refused: " + client_.text());
    case ClientState::kUnreachable:
      retry_ = true;
      throw NoLearner(fmt::format("no learner within {} s", connect_timeout_s_));
    default:
      return Outcome::kOver;
  }
}

// Waits until the thread has joined; makes it join again if the learner was lost, or was not there.
Seat::Outcome Seat::AwaitJoined(std::unique_lock<std::mutex>& lock, WaitMs wait_ms) {
  const std::int64_t end_ms = clock_.NowMs() + wait_ms;
  if (retry_) JoinAgain();
  while (true) {
    // 1. Whatever has become of the last attempt.
    if (!joining_ && failed_) Rethrow();
    if (!joining_ && std::exchange(hung_, false)) {
      LogWarn(
          "no call for staleness.deadline_s + wire.timeout_s: this actor counts as hung; its "
          "gradient is lost, and it joins again");
      client_.SayGoodbye();
      JoinAgain();
    } else if (!joining_) {
      const Outcome outcome = StateOutcome();
      if (outcome != Outcome::kLost) {
        lost_ms_.reset();
        return outcome;
      }
      // A learner whose memory cannot be opened is joined, and lost, again and again.
      if (!lost_ms_) lost_ms_ = clock_.NowMs();
      const double lost_s = static_cast<double>(clock_.NowMs() - *lost_ms_) / 1000;
      JoinAgain();
      if (lost_s > connect_timeout_s_) {
        lost_ms_.reset();
        throw NoLearner(fmt::format("no learner to stay with within {} s", connect_timeout_s_));
      }
    }
    // 2. Wait for the next one.
    const std::int64_t left_ms = end_ms - clock_.NowMs();
    if (left_ms > 0) joined_.wait_for(lock, Duration(left_ms), [this] { return !joining_; });
    if (joining_) return Outcome::kLater;
  }
}

void Seat::JoinAgain() {
  outcomes_ = client_.outcomes();
  joining_ = true;
  retry_ = false;
  failed_ = nullptr;
  grant_.reset();
  known_.reset();
  space_ = {};
  wake_.notify_all();
}

// A mistake stays one; anything else may pass.
void Seat::Rethrow() {
  try {
    std::rethrow_exception(failed_);
  } catch (const UserError&) {
    throw;
  } catch (...) {
    retry_ = true;
    throw;
  }
}

Seat::Outcome Seat::Next(WaitMs wait_ms, wire::Grant& grant) {
  Call call(*this);
  const std::int64_t end_ms = clock_.NowMs() + wait_ms;
  if (member()) client_.Attend();  // the run may have ended, or the learner be lost
  while (true) {
    const std::int64_t left_ms = std::max<std::int64_t>(end_ms - clock_.NowMs(), 0);
    const Outcome outcome = AwaitJoined(call.lock, left_ms);
    if (outcome != Outcome::kDone) return outcome;
    if (!grant_) {
      space_ = {};
      grant_ = client_.NextGrant(std::max<std::int64_t>(end_ms - clock_.NowMs(), 0));
    }
    if (grant_) {
      grant = *grant_;
      return Outcome::kDone;
    }
    if (client_.state() == ClientState::kJoined) return Outcome::kLater;
  }
}

Seat::Outcome Seat::Weights(std::span<float> weights, wire::SnapshotMeta& meta) {
  const Call call(*this);
  if (!member()) return Outcome::kLost;
  if (!known_) meta = {};
  if (!client_.Refresh(grant_ ? grant_->version : 0, weights, meta)) return Outcome::kLost;
  known_ = meta;
  weights_ns_ = clock_.NowNs();
  if (grant_) client_.Prefetch(meta);
  return Outcome::kDone;
}

std::span<float> Seat::GradientSpace() {
  const Call call(*this);
  if (space_.empty() && member()) space_ = client_.NextGradientSpace();
  return space_;
}

void Seat::CheckPush(const Report& report) const {
  if (!grant_) throw UserError("there is no grant for it: each is spent by one gradient");
  if (!known_) throw UserError("it is of no weights: none were fetched since this seat joined");
  if (known_->version < grant_->version) {
    throw UserError(
        fmt::format("its weights are of version {}, and the grant asks for {}: fetch them after "
                    "the grant has come",
                    known_->version, grant_->version));
  }
  if (report.samples < 1 || std::cmp_greater(report.samples, kMaxSamples)) {
    throw UserError(
        fmt::format("samples is {}: it is at least 1, at most {}", report.samples, kMaxSamples));
  }
  for (const envs::EpisodeEnd& end : report.episodes) {
    if (!std::isfinite(end.episode_return)) {
      throw UserError(fmt::format("the return of an episode is {}", end.episode_return));
    }
    if (end.length < 0) throw UserError("the length of an episode is more than 2^63");
  }
  for (const double loss : {report.policy_loss, report.value_loss, report.entropy}) {
    if (!std::isfinite(loss)) throw UserError(fmt::format("a loss is {}", loss));
  }
}

// Brings a gradient to `space_`, with zeros between its parameters, and clips it. Returns its norm
// before. Throws UserError if it is not finite.
double Seat::Prepare(std::span<const float> gradient) {
  // 1. Copy it, and sum its squares.
  if (space_.empty()) space_ = client_.NextGradientSpace();
  double square = 0;
  std::size_t end = 0;
  for (const net::Parameter& parameter : layout_.parameters()) {
    std::ranges::fill(space_.subspan(end, parameter.offset - end), 0.0f);
    end = parameter.offset + parameter.size;
    const double its = Copy(gradient.subspan(parameter.offset, parameter.size),
                            space_.subspan(parameter.offset, parameter.size));
    if (!std::isfinite(its))
      ThrowNotFinite(parameter.name, gradient.subspan(parameter.offset, parameter.size));
    square += its;
  }
  std::ranges::fill(space_.subspan(end), 0.0f);
  // 2. Clip it.
  const double norm = std::sqrt(square), most = member_.config.optimizer.clip_norm;
  if (most > 0 && norm > most) {
    const auto factor = static_cast<float>(most / norm);
    for (float& x : space_) x *= factor;
  }
  return norm;
}

Seat::Outcome Seat::Push(std::span<const float> gradient, const Report& report) {
  const std::int64_t begin_ns = clock_.NowNs();
  // 1. A gradient whose learner has gone counts nowhere.
  const Call call(*this);
  if (!member()) return Outcome::kLost;
  // 2. Check it, and bring it where it is sent from.
  CheckPush(report);
  const double norm = Prepare(gradient);
  // 3. Send it.
  const RolloutGradient pushed{.values = space_,
                               .norm = norm,
                               .loss = {.policy_loss = report.policy_loss,
                                        .value_loss = report.value_loss,
                                        .entropy = report.entropy},
                               .samples = report.samples,
                               .gradient_us = static_cast<std::uint32_t>(std::min<std::int64_t>(
                                   (begin_ns - weights_ns_) / 1000, UINT32_MAX))};
  space_ = {};
  const wire::Grant grant = *std::exchange(grant_, std::nullopt);
  // A run that is over by now may have ended with it: that is heard by Next.
  client_.Push(grant, *known_, known_->version, pushed, EpisodesOf(report.episodes));
  return client_.state() == ClientState::kLost ? Outcome::kLost : Outcome::kDone;
}

Config Seat::config() {
  const std::lock_guard lock(mutex_);
  return member_.config;
}

std::uint32_t Seat::slot() {
  const std::lock_guard lock(mutex_);
  return member_.slot;
}

Outcomes Seat::outcomes() {
  const std::lock_guard lock(mutex_);
  return joining_ ? outcomes_ : client_.outcomes();
}

}  // namespace starling::actors
