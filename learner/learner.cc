#include "learner/learner.h"

#include <array>
#include <utility>

#include "net/norm.h"

namespace starling::learner {

namespace {

constexpr int kDrainAtMost = 256;     // messages handled before the lanes are looked at again
constexpr std::int64_t kIdleMs = 50;  // the clock is looked at so often if nothing happens

wire::Outcome OutcomeOf(Arrival arrival) {
  switch (arrival) {
    case Arrival::kHeld:
      return wire::Outcome::kNone;
    case Arrival::kNoGrant:
      return wire::Outcome::kNoGrant;
    case Arrival::kBelowGrant:
      return wire::Outcome::kBelowGrant;
    case Arrival::kFutureVersion:
      return wire::Outcome::kFutureVersion;
    case Arrival::kStale:
      return wire::Outcome::kStale;
  }
  return wire::Outcome::kNone;
}

std::string RouterEndpoint(const Config& config, const wire::RunPlace& place) {
  return config.wire.endpoint == "auto" ? place.SocketEndpoint("control") : config.wire.endpoint;
}

// Weights and gradients go through shared memory where every actor is on this host: on ipc. Over tcp
// weights are fetched.
bool OnThisHost(const Config& config) { return !config.wire.endpoint.starts_with("tcp://"); }

// A first start that finds no room for them is told so; one in the middle of a run goes on. Over tcp
// actors do not look into it, but the evaluator, which plays on this host, does.
wire::SnapshotWriter MakeSnapshot(const Config& config, const net::ParameterLayout& layout,
                                  const std::filesystem::path& path, std::uint32_t term,
                                  bool resume) {
  const std::size_t floats = layout.size();
  const std::uint64_t fingerprint = layout.fingerprint();
  if (!OnThisHost(config) && config.eval.every_steps == 0) return {{}, floats, fingerprint, term};
  if (OnThisHost(config) && !resume) return {path, floats, fingerprint, term};
  return wire::SnapshotWriter::SharedIfThereIsRoom(path, floats, fingerprint, term);
}

std::optional<wire::KeyPair> OwnKeys(const Config& config) {
  if (config.wire.secret.empty()) return std::nullopt;
  return wire::ReadSecretFile(config.wire.secret);
}

std::optional<wire::Gate> MakeGate(const Config& config, wire::Context& context) {
  if (config.wire.secret.empty()) return std::nullopt;
  return std::optional<wire::Gate>(std::in_place, context, config.wire.allowed);
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
      options_(std::move(options)),
      term_(start.standing.term),
      counters_(std::move(start.counters)),
      roster_(term_),
      journal_(options_.run_dir / "journal",
               {.seed = config.run.seed, .fingerprint = layout_.fingerprint()},
               start.cut_journal_at),
      metrics_(options_.run_dir / "metrics.jsonl"),
      board_(config.run.tensorboard, options_.run_dir, start.standing.steps),
      checkpoints_(options_.run_dir / "checkpoints",
                   static_cast<std::size_t>(config.checkpoint.keep), [this] { bell_.Ring(); }),
      place_(std::move(place)),
      snapshot_(MakeSnapshot(config, layout_, place_.SnapshotPath(term_), term_, options_.resume)),
      reader_(snapshot_),
      keys_(OwnKeys(config)),
      gate_(MakeGate(config, context_)),
      socket_(context_, RouterEndpoint(config, place_),
              {.max_elements = layout_.size(), .keys = keys_}),
      pipeline_(config_, start.standing, snapshot_, journal_, counters_, [this] { bell_.Ring(); }),
      last_checkpoint_(start.checkpoint),
      seconds_before_(counters_.seconds) {
  if (OnThisHost(config) && snapshot_.shared())
    beacon_.emplace(context_, place_.SocketEndpoint("beacon"));
  if (config.eval.every_steps > 0 && !snapshot_.shared()) {
    LogWarn("the evaluator cannot see the weights: only those at the end are evaluated");
  }
  journal_.Append(TermRecord{term_, start.standing.version, start.standing.steps});
  journal_.Append(EntropyRecord{pipeline_.entropy()});
  journal_.Append(HashRecord{start.standing.version, HashWeights(start.standing.weights)});
  if (!options_.resume) {
    SaveCheckpoint({std::move(start.standing), counters_.Save(), journal_.offset()});
  }
  if (gate_) OpenGate();
  place_.WriteEndpoint(socket_.endpoint());
  LogInfo("term {}, listening on {}", term_, socket_.endpoint());
}

bool Learner::Run() {
  started_ms_ = last_alone_ms_ = clock_.NowMs();
  std::array<wire::PollItem, 6> items{};
  auto& [messages, bell, stop, subscribers, newcomers, reload] = items;
  messages.socket = &socket_;
  bell.fd = bell_.fd();
  stop.fd = options_.stop_fd;
  if (beacon_) subscribers.socket = &*beacon_;
  if (gate_) newcomers.socket = &*gate_;
  reload.fd = gate_ ? options_.reload_fd : -1;

  bool stopped = false;
  while (true) {
    times_.dispatch_ns += laps_.LapNs();
    wire::Poll(items, kIdleMs);
    times_.idle_ns += laps_.LapNs();
    bell_.Silence();
    if (subscribers.readable) beacon_->Repeat();
    if (gate_) WatchGate(reload.readable);
    stopped = stop.readable || MustStop();
    if (!stopped && !pipeline_.over()) {
      Drain();
      WatchStart();
      WatchDeadlines();
      WatchSilence();
      pipeline_.Advance();
    }
    Finish();
    CollectCheckpoints();
    if ((stopped || pipeline_.over()) && pipeline_.idle()) break;
    Report(Moment::kRunning);
  }

  const bool over = pipeline_.over();
  FarewellTo(over ? wire::ByeReason::kRunOver : wire::ByeReason::kShuttingDown,
             over ? "all steps are done" : "the learner was told to stop");
  // The actors leave now; the last checkpoint may take its time.
  Report(Moment::kFarewell);
  SaveCheckpoint({pipeline_.Settle(), counters_.Save(), journal_.offset()}, true);
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
  const wire::DecodeResult decoded = wire::Decode(envelope.frames(), layout_.size());
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
  const std::string peer = envelope.peer();
  switch (message.header.kind) {
    case wire::Kind::kHello:
      return OnHello(envelope, std::get<wire::Hello>(message.body));
    case wire::Kind::kGradient:
      return OnGradient(std::move(envelope), message);
    case wire::Kind::kFetch:
      return OnFetch(peer, message.header);
    case wire::Kind::kHeartbeat:
      return OnHeartbeat(peer, message.header);
    case wire::Kind::kBye:
      if (const Member* member = roster_.FindPeer(peer)) Remove(member->slot, "said goodbye");
      return;
    case wire::Kind::kWelcome:
    case wire::Kind::kAnswer:
    case wire::Kind::kWeights:
      ++counters_.frames_refused["kind"];
      return;
  }
}

// ---- check, judge

void Learner::OnGradient(wire::Envelope envelope, const wire::Message& message) {
  const wire::Header header = message.header;
  const auto gradient = std::get<wire::Gradient>(message.body);
  const std::string peer = envelope.peer();
  const bool count = gradient.buffer > 0 || header.count == layout_.size();
  if (header.fingerprint != layout_.fingerprint() || !count) {
    ++counters_.frames_refused[count ? "fingerprint" : "count"];
    Say(peer, nullptr, wire::Bye{wire::ByeReason::kRefused, "your net is not the learner's"});
    return;
  }
  ++counters_.received;
  Member* member = nullptr;
  Received received;
  wire::Outcome outcome = CheckGradient(message, member, received);
  if (member) {
    member->heard_ms = clock_.NowMs();
    member->peer = peer;
    if (outcome == wire::Outcome::kNone) {
      for (const wire::Episode& episode : gradient.episodes) counters_.AddEpisode(episode);
      counters_.episodes_cut += gradient.episodes_cut;
      counters_.envs_replaced += gradient.envs_replaced;
      newest_ = gradient;
      times_.Add(gradient);
      received.envelope = std::move(envelope);
      outcome = SpendGrant(gradient, std::move(received), *member);
    } else if (outcome != wire::Outcome::kDuplicate &&
               pipeline_.judge().Lose(member->slot, gradient.grant)) {
      granted_ms_.erase(gradient.grant);
    }
  }
  if (member) Journal(message, outcome);
  if (outcome == wire::Outcome::kNone) return;  // held: answered when it is applied

  counters_.AddDropped(outcome);
  if (outcome != wire::Outcome::kStale) {  // that one is what "drop" is for
    refusals_.Warn(clock_.NowMs(), fmt::format("refused a gradient of actor {}: {}", header.slot,
                                               wire::OutcomeName(outcome)));
  }
  if (!member) {
    Say(peer, nullptr, wire::Answer{.answers = header.sequence, .outcome = outcome});
    return;
  }
  Say(peer, member, wire::Answer{.answers = header.sequence, .outcome = outcome});
  pipeline_.judge().Retry(member->slot);
}

// Only members' gradients: what a stranger sends is no part of the run.
void Learner::Journal(const wire::Message& message, wire::Outcome outcome) {
  const auto& gradient = std::get<wire::Gradient>(message.body);
  journal_.Append(ArrivalRecord{.slot = message.header.slot,
                                .incarnation = message.header.incarnation,
                                .sequence = message.header.sequence,
                                .grant = gradient.grant,
                                .base_version = message.header.version,
                                .samples = gradient.samples,
                                .outcome = static_cast<std::uint8_t>(outcome),
                                .norm = gradient.norm});
}

// What can be said of a gradient without the judge; `member` is its sender if it is one of us,
// `received` the gradient, once its values are found.
wire::Outcome Learner::CheckGradient(const wire::Message& message, Member*& member,
                                     Received& received) {
  const wire::Header& header = message.header;
  const auto& gradient = std::get<wire::Gradient>(message.body);
  if (header.term != term_) return wire::Outcome::kOtherTerm;
  Member* found = roster_.Find(header.slot);
  if (!found) return wire::Outcome::kUnknownActor;
  if (header.incarnation != found->incarnation) return wire::Outcome::kOldIncarnation;
  member = found;
  if (header.sequence <= member->last_sequence) return wire::Outcome::kDuplicate;
  member->last_sequence = header.sequence;
  // Whole unrolls, of as many envs as its actor has: not all need have the same number.
  if (gradient.samples < 1 || gradient.samples > kMostSamples ||
      gradient.samples % static_cast<std::uint64_t>(config_.actors.unroll) != 0) {
    return wire::Outcome::kBadSamples;
  }
  received = {.slot = member->slot,
              .incarnation = member->incarnation,
              .sequence = header.sequence,
              .base = header.version,
              .samples = gradient.samples};
  if (gradient.buffer == 0) {
    received.values = message.floats();
  } else {
    auto loan = member->buffers ? member->buffers->Lend(gradient.buffer - 1) : std::nullopt;
    if (!loan) return wire::Outcome::kNoBuffer;
    received.loan = *std::move(loan);
    received.values = received.loan.values;
  }
  const net::FiniteNorm norm = net::CheckFinite(received.values);
  if (!norm.finite) return wire::Outcome::kNotFinite;
  if (norm.norm > config_.updates.max_norm) return wire::Outcome::kNormTooLarge;
  return wire::Outcome::kNone;
}

wire::Outcome Learner::SpendGrant(const wire::Gradient& gradient, Received received,
                                  Member& member) {
  const std::uint64_t number = gradient.grant, base = received.base;
  const Arrival arrival = pipeline_.Hold(number, std::move(received));
  if (arrival == Arrival::kHeld) {
    ++member.accepted;
    member.steps += gradient.samples;
    member.wait_us += gradient.wait_us;
    member.version = base;
  }
  if (arrival == Arrival::kBelowGrant || arrival == Arrival::kFutureVersion) {
    pipeline_.judge().Lose(member.slot, number);
  }
  if (arrival != Arrival::kNoGrant) granted_ms_.erase(number);
  return OutcomeOf(arrival);
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
  std::vector<std::uint32_t> unreachable;
  const auto send = [&](const Member& member, const wire::Answer& answer) {
    if (!Say(member.peer, &member, answer)) unreachable.push_back(member.slot);
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
                            .version = tensor.values().empty() ? pipeline_.published() : version,
                            .fingerprint = layout_.fingerprint()};
  return socket_.Send(peer, wire::Encode(header, body, tensor));
}

}  // namespace starling::learner
