#include "learner/learner.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"

namespace starling::learner {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxDrained = 256;                // messages handled before the applier is looked at
constexpr std::int64_t kIdleMs = 50;            // longest turn of the loop if nothing happens
constexpr std::int64_t kShardsWaitMs = 10'000;  // between two lines that shards are not ready
constexpr char kEndpointFile[] = "endpoint";    // in the run directory, while the learner listens

std::string RouterEndpoint(const Config& config, const wire::RunPlace& place) {
  return config.wire.endpoint == "auto" ? place.SocketEndpoint("control") : config.wire.endpoint;
}

// Weights and gradients go through shared memory where every actor is on this host: on ipc. Over
// tcp weights are fetched.
bool OnThisHost(const Config& config) { return !config.wire.endpoint.starts_with("tcp://"); }

// A fresh start fails if shared memory is full; a resumed run falls back to sockets. Over tcp
// actors do not read it, but the evaluator, which runs on this host, does.
wire::SnapshotWriter MakeSnapshot(const Config& config, std::size_t floats,
                                  std::uint64_t fingerprint, const std::filesystem::path& path,
                                  std::uint32_t term, bool resume) {
  if (!OnThisHost(config) && config.eval.every_steps == 0) return {{}, floats, fingerprint, term};
  if (OnThisHost(config) && !resume) return {path, floats, fingerprint, term};
  return wire::SnapshotWriter::SharedIfThereIsRoom(path, floats, fingerprint, term);
}

wire::Slice OwnSlice(const Config& config, std::size_t floats) {
  const auto shards = static_cast<std::size_t>(config.learner.shards);
  const auto slices = wire::CutIntoSlices(floats, shards);
  if (slices.front().size > 0) return slices.front();
  throw UserError(
      fmt::format("learner.shards = {}: the net has no more than {} weights, 16 a shard "
                  "are the least",
                  shards, floats));
}

// For actors on other machines that share the run directory: they cannot know which port was free.
void Announce(const fs::path& file, const std::string& address, const std::string& bound) {
  const std::string port = bound.substr(bound.rfind(':'));
  WriteFileAtomically(file, fmt::format("tcp://{}{}\n", address, port));
}

std::uint32_t NewSession() {
  std::random_device random;
  return std::max(1u, static_cast<std::uint32_t>(random()));
}

}  // namespace

// ---- start

Learner::Learner(const Config& config, NetBlueprint net, LearnerOptions options)
    // In this order, so that nothing of a run that another learner holds is changed.
    : Learner{config, net, options,
              wire::RunPlace::Create(wire::RuntimeRoot(config.wire.runtime_dir), options.run_dir),
              FindStart(config, net, options.run_dir, options.resume)} {}

Learner::Learner(const Config& config, NetBlueprint net, LearnerOptions options,
                 wire::RunPlace place, Start start)
    : config_(config),
      layout_(std::move(net.layout)),
      slice_(OwnSlice(config, layout_.size())),
      options_(std::move(options)),
      wall_(options_.clock ? *options_.clock : steady_clock_),
      clock_(wall_),
      place_(std::move(place)),
      snapshot_(MakeSnapshot(config, slice_.size, layout_.fingerprint(),
                             place_.SnapshotPath(start.state.term), start.state.term,
                             options_.resume)),
      newest_weights_(snapshot_),
      engine_(config_, start, snapshot_,
              {.run_dir = options_.run_dir,
               .fingerprint = layout_.fingerprint(),
               .session = NewSession(),
               .slice = slice_,
               .on_progress = [this] { bell_.Ring(); }}),
      keeper_(
          config_, layout_, options_.run_dir, start.checkpoint, start.state.version,
          [this] { bell_.Ring(); }, clock_),
      admission_(config_, context_, place_, engine_.counters(), clock_),
      socket_(context_, RouterEndpoint(config, place_),
              {.max_elements = slice_.size,
               .silence_ms = static_cast<int>(config_.wire.timeout_s * 1000.0),
               .keys = admission_.keys()}),
      outbox_(engine_, [this](const std::string& peer,
                              const wire::Frames& frames) { return socket_.Send(peer, frames); }),
      membership_(config_, engine_, outbox_, admission_,
                  {.endpoint = socket_.endpoint(),
                   .buffers = OnThisHost(config) && snapshot_.shared() && config.learner.shards == 1
                                  ? &place_
                                  : nullptr,
                   .welcome = [this] { return MakeWelcome(); },
                   .on_left =
                       [this](std::uint32_t slot, std::uint32_t incarnation) {
                         if (shards_) shards_->DiscardAllOf(slot, incarnation);
                       }},
                  clock_),
      reporter_(config_, options_.run_dir, engine_, options_.sinks, clock_),
      laps_(wall_) {
  if (OnThisHost(config) && snapshot_.shared()) {
    beacon_.emplace(context_, place_.SocketEndpoint("beacon"));
  }
  if (config.eval.every_steps > 0 && !snapshot_.shared()) {
    LogWarn("the evaluator cannot see the weights: only those at the end are evaluated");
  }
  if (!options_.resume) keeper_.Save(engine_.ContentOf(std::move(start.state)));
  if (config_.learner.shards > 1) {
    shards_.emplace(
        config_, context_, engine_, keeper_, admission_,
        ShardCoordinator::Options{
            .place = place_, .shared_weights = snapshot_.shared(), .ended = options_.shard_ended},
        clock_);
  }
  place_.WriteEndpoint(socket_.endpoint());
  if (!config_.wire.address.empty()) {
    Announce(options_.run_dir / kEndpointFile, config_.wire.address, socket_.endpoint());
  }
  LogInfo("term {}, listening on {}", engine_.term(), socket_.endpoint());
}

// Waits until all shards have started. Returns false if it is told to stop before.
bool Learner::AwaitShards() {
  std::array<wire::PollItem, 3> items{};
  items[0].socket = &shards_->socket();
  items[1].fd = bell_.fd();
  items[2].fd = options_.stop_fd;
  RateLimitedLog waiting(kShardsWaitMs);
  const std::int64_t started_ms = clock_.NowMs();
  while (!shards_->ready()) {
    wire::Poll(items, kIdleMs);
    clock_.Tick();
    bell_.Silence();
    if (items[2].readable || MustStop()) return false;
    const std::int64_t waited_ms = clock_.NowMs() - started_ms;
    if (static_cast<double>(waited_ms) >= config_.updates.start_timeout_s * 1000.0) {
      throw std::runtime_error(fmt::format(
          "not every shard has read the checkpoint and begun within updates.start_timeout_s = {} s",
          config_.updates.start_timeout_s));
    }
    if (waited_ms >= kShardsWaitMs) {
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

// ---- the loop

bool Learner::Run() {
  const bool begun = !shards_ || AwaitShards();
  if (begun) Loop();
  End(begun);
  return engine_.over();
}

void Learner::Loop() {
  std::array<wire::PollItem, 7> items{};
  auto& [messages, bell, stop, subscribers, newcomers, reload, shards] = items;
  messages.socket = &socket_;
  bell.fd = bell_.fd();
  stop.fd = options_.stop_fd;
  if (beacon_) subscribers.socket = &*beacon_;
  newcomers.socket = admission_.socket();
  reload.fd = admission_.has_keys() ? options_.reload_fd : -1;
  if (shards_) shards.socket = &shards_->socket();

  while (true) {
    // 1. Wait for something to happen.
    times_.dispatch_ns += laps_.LapNs();
    wire::Poll(items, kIdleMs);
    times_.idle_ns += laps_.LapNs();
    clock_.Tick();
    bell_.Silence();
    if (subscribers.readable) beacon_->Repeat();
    if (reload.readable) ReloadKeys();
    if (shards_) shards_->Receive();
    // 2. Receive, and let time pass for those who are late. Only a learner that has read everything
    //    knows who is silent.
    const bool stopped = stop.readable || MustStop();
    if (!stopped && !engine_.over()) {
      OnWholeGradients();
      const bool all_read = Drain();
      membership_.OpenWhenReady();
      membership_.ExpireGrants();
      if (all_read) membership_.RemoveSilent();
      engine_.Advance();
    }
    admission_.Poll(socket_);
    // 3. Publish completed versions and answer.
    Publish();
    keeper_.Collect();
    if ((stopped || engine_.over()) && engine_.idle()) return;
    reporter_.Report(StatusReporter::Moment::kRunning, times_, keeper_.newest());
  }
}

// `begun`: all shards had started.
void Learner::End(bool begun) {
  const bool over = engine_.over();
  std::error_code ignored;
  fs::remove(options_.run_dir / kEndpointFile, ignored);
  // 1. Report first, so that the supervisor replaces none of the actors that leave now.
  reporter_.Report(StatusReporter::Moment::kDismissed, times_, keeper_.newest());
  membership_.Dismiss(over ? wire::LeaveReason::kRunOver : wire::LeaveReason::kShuttingDown,
                      over ? "all steps are done" : "the learner was told to stop");
  // 2. The last checkpoint may take its time.
  if (!shards_) {
    keeper_.SaveLast(engine_.CaptureNow());
  } else {
    if (begun) SaveLastWithShards();
    shards_->Leave();
  }
  keeper_.Finish();
  engine_.journal().Sync();
  reporter_.Report(StatusReporter::Moment::kEnd, times_, keeper_.newest());
}

// Waits for the checkpoint that is being written; then every shard writes its part of the last one.
void Learner::SaveLastWithShards() {
  std::array<wire::PollItem, 2> items{};
  items[0].socket = &shards_->socket();
  items[1].fd = bell_.fd();
  const auto await_written = [&] {
    while (!keeper_.idle()) {
      wire::Poll(items, kIdleMs);
      clock_.Tick();
      bell_.Silence();
      shards_->Receive();
      keeper_.Collect();
    }
    keeper_.Collect();
  };
  await_written();
  if (keeper_.Has(engine_.published())) return;
  shards_->WriteFinalCheckpoint(engine_.published());
  keeper_.Save(engine_.CaptureNow());
  await_written();
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
  // 1. Refuse what is not understood or not allowed.
  if (!admission_.Allows(envelope)) return;
  const wire::DecodeResult decoded = wire::Decode(envelope.frames(), slice_.size);
  if (!decoded) {
    const std::string refusal = wire::RefusalName(decoded.refusal);
    ++engine_.counters().frames_refused[refusal];
    refusals_.Warn(clock_.NowMs(), "refused a message that is not ours: " + refusal);
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

// Hands a gradient to the engine and answers a refusal. Returns whether the gradient is held; then
// its answer comes with its update. `other_square`: sum of squares of the other shards' slices.
bool Learner::Receive(wire::Envelope envelope, const wire::Message& message, double other_square) {
  const wire::Header header = message.header;
  const std::string peer = envelope.peer();
  // 1. A gradient of another net is not even a gradient.
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
  if (sender) membership_.Heard(*sender, peer);
  if (outcome == wire::Outcome::kNone) return true;
  // 3. A refusal is answered at once. Stale gradients are what "drop" refuses, so they are no
  // warning.
  if (outcome != wire::Outcome::kStale) {
    refusals_.Warn(clock_.NowMs(), fmt::format("refused a gradient of actor {}: {}", header.slot,
                                               wire::OutcomeName(outcome)));
  }
  const wire::Answer answer{.answers = header.sequence, .outcome = outcome};
  sender ? outbox_.Send(*sender, answer) : outbox_.Send(peer, answer);
  return false;
}

// In a learner of several processes the message carries shard 0's slice. The gradient is received
// when all its slices are here.
void Learner::OnSlice(wire::Envelope envelope, const wire::Message& message) {
  const wire::Header header = message.header;
  Member* member = engine_.SenderOf(header);
  const bool expected = member && header.fingerprint == layout_.fingerprint() &&
                        header.count == slice_.size && header.sequence > member->last_sequence;
  if (!expected) return OnGradient(std::move(envelope), message);  // it is refused
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
    if (Receive(std::move(whole->envelope), message, whole->other_square)) continue;
    shards_->Discard({header.slot, header.incarnation, header.sequence});
  }
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
  for (const std::uint32_t slot : admission_.Reload(engine_.roster())) {
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
  const std::vector<Engine::Reply> replies = engine_.TakeReplies(clock_.NowNs());
  if (!first_grant_ns_ && engine_.granted()) {
    first_grant_ns_ = wall_.NowNs();
    times_ = {};  // the time before is no part of training
  }
  // An actor over tcp that holds one grant at a time waits for its weights: they follow the grant.
  const bool weights_follow = !beacon_ && config_.updates.in_flight == 1;
  std::vector<std::uint32_t> unreachable;
  for (const auto& [slot, answer] : replies) {
    const Member& member = *engine_.roster().Find(slot);
    if (!outbox_.Send(member, answer)) {
      unreachable.push_back(slot);
    } else if (!answer.grants.empty() && weights_follow) {
      SendWeights(member);
    }
  }
  // An actor that missed a grant would wait for it for ever: it joins again.
  for (const std::uint32_t slot : unreachable) {
    if (engine_.roster().Find(slot)) membership_.Remove(slot, "is gone or does not read");
  }
}

void Learner::SendWeights(const Member& member) {
  if (!newest_weights_.Refresh()) return;  // overtaken by writers: the actor asks again
  const wire::SnapshotMeta& meta = newest_weights_.meta();
  outbox_.SendTensor(member, wire::Weights{.steps = meta.steps, .entropy = meta.entropy},
                     newest_weights_.values(), meta.version);
}

wire::Welcome Learner::MakeWelcome() const {
  wire::Welcome welcome{.config = ToToml(config_)};
  if (shards_) welcome.shards = shards_->places();
  if (beacon_) {
    welcome.snapshot = place_.SnapshotPath(engine_.term()).string();
    welcome.beacon = beacon_->endpoint();
  } else {  // over tcp only the evaluator reads shared memory
    for (wire::ShardPlace& place : welcome.shards) place.snapshot.clear();
  }
  return welcome;
}

// Since the first grant of this term.
double Learner::TrainingSeconds() const {
  return first_grant_ns_ ? static_cast<double>(wall_.NowNs() - *first_grant_ns_) / 1e9 : 0;
}

}  // namespace starling::learner
