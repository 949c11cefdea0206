#include "learner/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/file.h"

namespace starling::learner {

namespace {

namespace fs = std::filesystem;

constexpr int kDrainAtMost = 256;     // messages handled before the lanes are looked at again
constexpr std::int64_t kIdleMs = 50;  // the clock is looked at so often if nothing happens
constexpr char kEndpointFile[] = "endpoint";  // in the run directory, while we listen

std::string RouterEndpoint(const Config& config, const wire::RunPlace& place) {
  return config.wire.endpoint == "auto" ? place.SocketEndpoint("control") : config.wire.endpoint;
}

// Weights and gradients go through shared memory where every actor is on this host: on ipc. Over tcp
// weights are fetched.
bool OnThisHost(const Config& config) { return !config.wire.endpoint.starts_with("tcp://"); }

// A first start that finds no room for them is told so; one in the middle of a run goes on. Over tcp
// actors do not look into it, but the evaluator, which plays on this host, does.
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

// For actors of other machines that see the run directory, too: which port was free they cannot know.
void Announce(const fs::path& file, const std::string& address, const std::string& bound) {
  const std::string port = bound.substr(bound.rfind(':'));
  WriteFileAtomically(file, fmt::format("tcp://{}{}\n", address, port));
}

std::optional<wire::KeyPair> OwnKeys(const Config& config) {
  if (config.wire.secret.empty()) return std::nullopt;
  return wire::ReadSecretFile(config.wire.secret);
}

std::optional<wire::Gate> MakeGate(const Config& config, wire::Context& context) {
  if (config.wire.secret.empty()) return std::nullopt;
  return std::optional<wire::Gate>(std::in_place, context, config.wire.allowed);
}

std::uint32_t NewSession() {
  std::random_device random;
  return std::max(1u, static_cast<std::uint32_t>(random()));
}

}  // namespace

Learner::Learner(const Config& config, NetBlueprint net, LearnerOptions options)
    // In this order: nothing of a run that another learner holds is touched.
    : Learner{config, net, options,
              wire::RunPlace::Create(wire::RuntimeRoot(config.wire.runtime_dir), options.run_dir),
              FindStart(config, net, options.run_dir, options.resume)} {}

Learner::Learner(const Config& config, NetBlueprint net, LearnerOptions options,
                 wire::RunPlace place, Start start)
    : config_(config),
      layout_(std::move(net.layout)),
      slice_(OwnSlice(config, layout_.size())),
      options_(std::move(options)),
      term_(start.state.term),
      session_(NewSession()),
      counters_(std::move(start.counters)),
      roster_(term_),
      journal_(options_.run_dir / "journal",
               {.seed = config.run.seed, .fingerprint = layout_.fingerprint()},
               start.cut_journal_at),
      metrics_(options_.run_dir / "metrics.jsonl"),
      board_(config.run.tensorboard, options_.run_dir, start.state.steps),
      checkpoints_(options_.run_dir / "checkpoints",
                   static_cast<std::size_t>(config.checkpoint.keep), [this] { bell_.Ring(); },
                   {0, static_cast<std::size_t>(config.learner.shards)}),
      place_(std::move(place)),
      snapshot_(MakeSnapshot(config, slice_.size, layout_.fingerprint(), place_.SnapshotPath(term_),
                             term_, options_.resume)),
      newest_weights_(snapshot_),
      keys_(OwnKeys(config)),
      gate_(MakeGate(config, context_)),
      socket_(context_, RouterEndpoint(config, place_),
              {.max_elements = slice_.size,
               .silence_ms = static_cast<int>(config_.wire.timeout_s * 1000.0),
               .keys = keys_}),
      pipeline_(config_, CutOut(start.state, slice_), snapshot_, journal_, counters_,
                [this] { bell_.Ring(); }),
      last_checkpoint_(start.checkpoint),
      last_saved_(pipeline_.taken()),
      seconds_before_(counters_.seconds) {
  if (OnThisHost(config) && snapshot_.shared())
    beacon_.emplace(context_, place_.SocketEndpoint("beacon"));
  if (config.eval.every_steps > 0 && !snapshot_.shared()) {
    LogWarn("the evaluator cannot see the weights: only those at the end are evaluated");
  }
  journal_.Append(TermRecord{term_, start.state.version, start.state.steps});
  journal_.Append(EntropyRecord{pipeline_.entropy()});
  journal_.Append(HashRecord{start.state.version, HashWeights(start.state.weights)});
  if (!options_.resume) {
    SaveCheckpoint({std::move(start.state), counters_.Save(), journal_.offset()});
  }
  if (gate_) OpenGate();
  if (config_.learner.shards > 1) OpenShards();
  place_.WriteEndpoint(socket_.endpoint());
  if (!config_.wire.address.empty()) {
    Announce(options_.run_dir / kEndpointFile, config_.wire.address, socket_.endpoint());
  }
  LogInfo("term {}, listening on {}", term_, socket_.endpoint());
}

bool Learner::Run() {
  started_ms_ = last_alone_ms_ = clock_.NowMs();
  std::array<wire::PollItem, 7> items{};
  auto& [messages, bell, stop, subscribers, newcomers, reload, others] = items;
  messages.socket = &socket_;
  bell.fd = bell_.fd();
  stop.fd = options_.stop_fd;
  if (beacon_) subscribers.socket = &*beacon_;
  if (gate_) newcomers.socket = &*gate_;
  reload.fd = gate_ ? options_.reload_fd : -1;
  if (shards_) others.socket = &shards_->socket();

  const bool begun = !shards_ || AwaitShards();
  bool stopped = !begun;
  while (begun) {
    times_.dispatch_ns += laps_.LapNs();
    wire::Poll(items, kIdleMs);
    times_.idle_ns += laps_.LapNs();
    bell_.Silence();
    if (subscribers.readable) beacon_->Repeat();
    if (gate_) WatchGate(reload.readable);
    if (shards_) HearShards();
    stopped = stop.readable || MustStop();
    if (!stopped && !pipeline_.over()) {
      Drain();
      WatchStart();
      WatchDeadlines();
      WatchSilence();
      pipeline_.Advance();
    }
    WatchConnections();
    Finish();
    CollectCheckpoints();
    if ((stopped || pipeline_.over()) && pipeline_.idle()) break;
    Report(Moment::kRunning);
  }

  const bool over = pipeline_.over();
  std::error_code ignored;
  fs::remove(options_.run_dir / kEndpointFile, ignored);
  Report(Moment::kFarewell);  // before the actors leave: nobody is to replace them
  FarewellTo(over ? wire::ByeReason::kRunOver : wire::ByeReason::kShuttingDown,
             over ? "all steps are done" : "the learner was told to stop");
  // They leave now; the last checkpoint may take its time.
  if (shards_) {
    if (begun) SealShards();
    shards_->Farewell();
  } else {
    SaveCheckpoint({pipeline_.Settle(), counters_.Save(), journal_.offset()}, true);
  }
  checkpoints_.Finish();
  CollectCheckpoints();
  journal_.Sync();
  Report(Moment::kEnd);
  return over;
}

// ---- receive

void Learner::Drain() {
  wire::Envelope envelope;
  for (int i = 0; i < kDrainAtMost && socket_.Receive(envelope); ++i) {
    Handle(std::move(envelope));
    times_.receive_ns += laps_.LapNs();
    pipeline_.Advance();  // the judge looks after every arrival, as far as the lanes take updates
    times_.dispatch_ns += laps_.LapNs();
  }
}

void Learner::Handle(wire::Envelope envelope) {
  if (!MayComeIn(envelope)) return;
  const wire::DecodeResult decoded = wire::Decode(envelope.frames(), slice_.size);
  if (!decoded) {
    ++counters_.frames_refused[wire::RefusalName(decoded.refusal)];
    refusals_.Warn(clock_.NowMs(), std::string("refused a message that is not ours: ") +
                                       wire::RefusalName(decoded.refusal));
    // A member whose message was damaged would wait for an answer for ever: it starts afresh.
    if (const Member* member = roster_.FindPeer(envelope.peer())) {
      const std::uint32_t slot = member->slot;
      Say(envelope.peer(), member, wire::Bye{wire::ByeReason::kLeaving, "damaged message"});
      Remove(slot, std::string("sent a damaged message: ") + wire::RefusalName(decoded.refusal));
    }
    return;
  }
  const wire::Message& message = decoded.message;
  if (SpeaksForAnother(envelope, message.header)) return;
  const std::string peer = envelope.peer();
  switch (message.header.kind) {
    case wire::Kind::kHello:
      return OnHello(envelope, std::get<wire::Hello>(message.body));
    case wire::Kind::kGradient:
      if (assembly_) return Gather(std::move(envelope), message);
      OnGradient(std::move(envelope), message);
      return;
    case wire::Kind::kFetch:
      return OnFetch(message.header);
    case wire::Kind::kHeartbeat:
      return OnHeartbeat(peer, message.header);
    case wire::Kind::kBye:
      if (const Member* member = roster_.FindPeer(peer)) Remove(member->slot, "said goodbye");
      return;
    default:
      ++counters_.frames_refused["kind"];
      return;
  }
}

// ---- apply, publish, answer

void Learner::Finish() {
  std::vector<Pipeline::Applied> applied;
  while (auto finished = pipeline_.TakeFinished()) {
    if (beacon_) beacon_->Publish({.term = term_, .version = finished->version});
    counters_.seconds =
        seconds_before_ + static_cast<double>(clock_.NowMs() - first_grant_ms_) / 1000.0;
    applied.insert(applied.end(), finished->applied.begin(), finished->applied.end());
    if (finished->checkpoint) {
      SaveCheckpoint(*std::move(finished->checkpoint));
    }
    pipeline_.Advance();  // the lanes take more now
  }
  SendAnswers(applied);
}

// Answers what was applied and hands out the grants whose version is published, and taken back: an actor
// that gets both gets them in one message.
void Learner::SendAnswers(const std::vector<Pipeline::Applied>& applied) {
  std::map<std::uint32_t, std::vector<wire::Grant>> grants = TakeGrants();
  // Where they have to travel, an actor that holds one grant at a time waits for them: they come right
  // behind it.
  const bool weights_follow = !beacon_ && config_.updates.in_flight == 1;
  std::vector<std::uint32_t> unreachable;
  const auto send = [&](const Member& member, const wire::Answer& answer) {
    if (!Say(member.peer, &member, answer)) return unreachable.push_back(member.slot);
    if (!answer.grants.empty() && weights_follow) SendWeights(member);
  };
  for (const Pipeline::Applied& one : applied) {
    Member* member = roster_.Find(one.slot);
    if (!member || member->incarnation != one.incarnation) continue;  // it died meanwhile
    member->staleness = one.staleness;
    wire::Answer answer{
        .answers = one.sequence, .outcome = one.outcome, .staleness = one.staleness};
    if (auto node = grants.extract(one.slot)) answer.grants = std::move(node.mapped());
    send(*member, answer);
  }
  for (auto& [slot, numbers] : grants) {
    if (const Member* member = roster_.Find(slot)) send(*member, {.grants = std::move(numbers)});
  }
  // An actor that misses a grant would wait for it for ever: it joins again when it hears of this.
  for (std::uint32_t slot : unreachable) {
    if (roster_.Find(slot)) Remove(slot, "is gone or does not read");
  }
}

std::map<std::uint32_t, std::vector<wire::Grant>> Learner::TakeGrants() {
  for (const Grant& grant : pipeline_.judge().TakeGrants()) unsent_.push_back(grant);
  std::map<std::uint32_t, std::vector<wire::Grant>> grants;
  const std::int64_t now = clock_.NowMs();
  std::erase_if(unsent_, [&](const Grant& grant) {
    if (grant.version > pipeline_.taken()) return false;
    grants[grant.slot].push_back({.number = grant.number, .version = grant.version});
    granted_ms_[grant.number] = now;
    journal_.Append(GrantRecord{grant.slot, grant.number, grant.version});
    return true;
  });
  if (first_grant_ms_ < 0 && !grants.empty()) {
    first_grant_ms_ = now;
    times_ = {};  // the start is no part of them
  }
  return grants;
}

bool Learner::Say(const std::string& peer, const Member* member, const wire::Body& body,
                  const wire::SharedTensor& tensor, std::uint64_t version) {
  const wire::Header header{.slot = member ? member->slot : 0,
                            .incarnation = member ? member->incarnation : 0,
                            .sequence = ++said_,
                            .term = term_,
                            .session = session_,
                            .version = tensor.values().empty() ? pipeline_.published() : version,
                            .fingerprint = layout_.fingerprint()};
  return socket_.Send(peer, wire::Encode(header, body, tensor));
}

}  // namespace starling::learner
