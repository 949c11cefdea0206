#include "learner/shards/shard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/check.h"
#include "core/config/config_rules.h"
#include "learner/apply/optimizer.h"
#include "learner/apply/schedule.h"
#include "net/norm.h"

namespace starling::learner {
namespace {

constexpr std::int64_t kIdleMs = 50;     // longest turn of the loop if nothing happens
constexpr int kMaxDrained = 256;         // messages of actors handled in one turn
constexpr int kQueue = 4096;             // reports to shard 0
constexpr std::size_t kSpareSlices = 8;  // of one connection beyond updates.in_flight

// Waits for the answer to the hello; `header` is that of the answer.
wire::ShardWelcome AwaitWelcome(wire::ClientSocket& learner, const ShardOptions& options,
                                wire::Header& header) {
  std::array<wire::PollItem, 1> items{{{.socket = &learner}}};
  for (wire::Envelope envelope; true;) {
    if (!learner.Receive(envelope)) {
      if (options.abandoned && options.abandoned()) {
        throw std::runtime_error("the learner is gone before it sent a welcome");
      }
      wire::Poll(items, kIdleMs);
      continue;
    }
    const auto decoded = wire::Decode(envelope.frames(), 0);
    if (!decoded) continue;
    if (std::holds_alternative<wire::Leave>(decoded.message.body)) {
      throw std::runtime_error("the learner has ended before it began");
    }
    const auto* welcome = std::get_if<wire::ShardWelcome>(&decoded.message.body);
    if (!welcome) continue;
    header = decoded.message.header;
    return *welcome;
  }
}

}  // namespace

Shard::Welcomed Shard::SayHello(const Config& config, const net::ParameterLayout& layout,
                                const ShardOptions& options) {
  // 1. Announce this shard, and wait for the welcome of shard 0.
  Welcomed welcomed;
  welcomed.context = std::make_unique<wire::Context>(IoThreads(config.wire));
  welcomed.learner = std::make_unique<wire::ClientSocket>(
      *welcomed.context, options.learner,
      wire::SocketOptions{.receive_queue = kQueue, .send_queue = kQueue});
  welcomed.learner->Send(wire::Encode(
      {.sequence = 1}, wire::ShardHello{.shard = static_cast<std::uint32_t>(options.shard),
                                        .pid = static_cast<std::uint32_t>(::getpid())}));
  wire::Header header;
  welcomed.welcome = AwaitWelcome(*welcomed.learner, options, header);
  welcomed.term = header.term;
  welcomed.session = header.session;
  // 2. Cut this shard's slice out of the checkpoint that the welcome names.
  Checkpoint whole = ReadCheckpoint(options.run_dir / welcomed.welcome.checkpoint);
  if (whole.layout.fingerprint() != layout.fingerprint()) {
    throw std::runtime_error("the learner's checkpoint holds another net than its configuration");
  }
  const auto shards = static_cast<std::size_t>(config.learner.shards);
  whole.term = welcomed.term;
  welcomed.state =
      CutOut(std::move(whole), wire::CutIntoSlices(layout.size(), shards).at(options.shard));
  return welcomed;
}

Shard::Shard(const Config& config, net::ParameterLayout layout, ShardOptions options)
    : Shard{config, layout, options, SayHello(config, layout, options)} {}

Shard::Shard(const Config& config, net::ParameterLayout layout, ShardOptions options,
             Welcomed welcomed)
    : config_(config),
      layout_(std::move(layout)),
      options_(std::move(options)),
      slice_(wire::CutIntoSlices(layout_.size(),
                                 static_cast<std::size_t>(config.learner.shards))[options_.shard]),
      term_(welcomed.term),
      session_(welcomed.session),
      clock_(options_.clock ? *options_.clock : steady_clock_),
      context_(std::move(welcomed.context)),
      learner_(std::move(welcomed.learner)),
      admission_(config, *context_, welcomed.welcome.local_key, refused_, clock_),
      socket_(*context_, welcomed.welcome.endpoint,
              {.max_elements = slice_.size,
               .silence_ms = static_cast<int>(config.wire.timeout_s * 1000.0),
               .keys = admission_.keys()}),
      snapshot_(wire::SnapshotWriter::SharedIfThereIsRoom(welcomed.welcome.snapshot, slice_.size,
                                                          layout_.fingerprint(), term_)),
      newest_(snapshot_, wire::ElementTypeOf(config.wire.weights)),
      checkpoints_(options_.run_dir / "checkpoints", {.checkpoints = 1},
                   [this] { wake_up_.Notify(); },
                   {options_.shard, static_cast<std::size_t>(config.learner.shards)}),
      pending_(kSpareSlices + static_cast<std::size_t>(config.updates.in_flight)),
      unsent_([this](const wire::Frames& frames) {
        return learner_->Send(frames) ? wire::SendStatus::kSent : wire::SendStatus::kFull;
      }),
      applier_(
          MakeApplier(config.learner.apply,
                      {.threads = static_cast<int>(config.learner.threads),
                       .optimizer = MakeOptimizerSpec(config.optimizer, config.staleness),
                       .size = slice_.size,
                       .trained = slice_.Before(layout_.trained())},
                      welcomed.state.weights, welcomed.state.optimizer_state, snapshot_,
                      {.term = term_,
                       .version = welcomed.state.version,
                       .steps = welcomed.state.steps,
                       .entropy = EntropyCoef(config.loss, config.run.steps, welcomed.state.steps)},
                      [this] { wake_up_.Notify(); })) {
  // Actors can connect when shard 0 knows the endpoint, so everything is open before this report.
  Send({}, wire::ShardReady{{.endpoint = socket_.endpoint(),
                             .snapshot = snapshot_.shared() ? welcomed.welcome.snapshot : ""}});
  LogInfo("term {}, weights {} to {} of {}, listening on {}", term_, slice_.begin,
          slice_.begin + slice_.size, layout_.size(), socket_.endpoint());
}

bool Shard::Run() {
  std::array<wire::PollItem, 4> items{};
  items[0].socket = learner_.get();
  items[1].socket = &socket_;
  items[2].fd = wake_up_.fd();
  items[3].socket = admission_.socket();
  while (!over_) {
    wire::Poll(items, kIdleMs);
    wake_up_.Clear();  // before the work that it announces, so that no notification is lost
    if (options_.abandoned && options_.abandoned()) return false;
    unsent_.SendWaiting();
    ReceiveFromLearner();
    ReceiveFromActors();
    ReportApplied();
    WriteFinalCheckpointIfApplied();
    ReportSaved();
    admission_.Poll(socket_);
    Beat();
  }
  checkpoints_.Finish();
  return true;
}

// ---- actors

void Shard::ReceiveFromActors() {
  wire::Envelope envelope;
  for (int i = 0; i < kMaxDrained && socket_.Receive(envelope); ++i) Handle(std::move(envelope));
}

void Shard::Handle(wire::Envelope envelope) {
  if (!admission_.Allows(envelope)) return;
  const wire::DecodeResult decoded =
      wire::Decode(envelope.frames(), slice_.size, wire::ElementTypeOf(config_.wire.gradient));
  if (!decoded) {
    return refusals_.Warn(clock_.NowMs(),
                          std::string("refused a message: ") + wire::RefusalName(decoded.refusal));
  }
  const wire::Message& message = decoded.message;
  if (message.header.term != term_ || message.header.session != session_ ||
      message.header.fingerprint != layout_.fingerprint()) {
    return;
  }
  if (message.header.kind == wire::Kind::kGradientSlice) OnSlice(std::move(envelope), message);
  if (message.header.kind == wire::Kind::kFetch) OnFetch(envelope.peer(), message.header);
}

void Shard::OnSlice(wire::Envelope envelope, const wire::Message& message) {
  const wire::Header& header = message.header;
  const std::uint64_t sequence = std::get<wire::GradientSlice>(message.body).gradient;
  const GradientName name{header.slot, header.incarnation, sequence};
  std::string refused = "count";
  if (header.count == slice_.size) {
    HeldSlice slice{.peer = envelope.peer(), .key = envelope.key(), .tensor = {}};
    slice.tensor = wire::HoldWith(std::move(envelope), message.Widened());
    const bool first = !pending_.First(name);
    refused = pending_.Hold(name, std::move(slice));
    if (refused.empty() && first) return ReportSlice(name);
  }
  if (refused.empty()) return;
  refusals_.Warn(clock_.NowMs(),
                 fmt::format("refused a slice of actor {}: {}", header.slot, refused));
}

// Reports the slice whose turn it is under this name, if there is one.
void Shard::ReportSlice(const GradientName& name) {
  const HeldSlice* slice = pending_.First(name);
  if (!slice) return;
  const net::FiniteNorm norm =
      net::CheckFinite(slice->tensor.values, slice_.Before(layout_.trained()));
  Send({.slot = name.slot, .incarnation = name.incarnation},
       wire::SliceHeld{.gradient = name.sequence,
                       .norm = norm.finite ? norm.norm : std::numeric_limits<double>::infinity(),
                       .key = slice->key});
}

void Shard::OnFetch(const std::string& peer, const wire::Header& header) {
  if (!newest_.Refresh()) return;  // overtaken by writers: the actor asks again
  const wire::SnapshotMeta& meta = newest_.meta();
  const wire::Header answer{.slot = header.slot,
                            .incarnation = header.incarnation,
                            .sequence = ++sent_,
                            .term = term_,
                            .session = session_,
                            .version = meta.version,
                            .fingerprint = layout_.fingerprint()};
  socket_.Send(peer,
               wire::Encode(answer, wire::Weights{.steps = meta.steps, .entropy = meta.entropy},
                            newest_.values()));
}

// ---- shard 0

void Shard::ReceiveFromLearner() {
  wire::Envelope envelope;
  while (learner_->Receive(envelope)) {
    const wire::DecodeResult decoded = wire::Decode(envelope.frames(), 0);
    if (!decoded || decoded.message.header.term != term_) continue;
    const auto& [header, body, tensor] = decoded.message;
    if (const auto* order = std::get_if<wire::ApplyUpdate>(&body)) {
      if (order->items.empty()) {  // no gradients: asks for the final checkpoint
        final_version_ = header.version;
      } else {
        OnApplyUpdate(header.version, *order);
      }
    } else if (const auto* discard = std::get_if<wire::DiscardSlice>(&body)) {
      const GradientName name{header.slot, header.incarnation, discard->gradient};
      pending_.TakeFirst(name);
      ReportSlice(name);
    } else if (std::holds_alternative<wire::ReloadKeys>(body) && admission_.has_keys()) {
      admission_.Reload(LogLevel::kInfo);
    } else if (std::holds_alternative<wire::Leave>(body)) {
      over_ = true;
    }
  }
}

void Shard::OnApplyUpdate(std::uint64_t version, const wire::ApplyUpdate& order) {
  // 1. Wait for all of its messages.
  items_.insert(items_.end(), order.items.begin(), order.items.end());
  if (order.more != 0) return;
  // 2. Take the slices in the order of shard 0, the order of the sum.
  auto pending = std::make_unique<InFlightUpdate>();
  Update& update = pending->update;
  for (const wire::ApplyUpdate::Item& item : std::exchange(items_, {})) {
    const GradientName name{item.slot, item.incarnation, item.gradient};
    auto slice = pending_.TakeFirst(name);
    CHECK(slice, "no slice of actor {}'s gradient {}", item.slot, item.gradient);
    ReportSlice(name);
    pending->slices.push_back(*std::move(slice));
    update.gradients.push_back({.values = pending->slices.back().tensor.values,
                                .weight = static_cast<float>(item.weight),
                                .sums = item.sums != 0,
                                .staleness = item.staleness});
  }
  // 3. Every number of the step is shard 0's.
  update.version = version;
  update.lr = order.lr;
  update.scale = order.scale;
  update.samples = order.samples;
  update.optimizer_step = order.optimizer_step;
  update.meta = {.term = term_, .version = version, .steps = order.steps, .entropy = order.entropy};
  if (order.checkpoint != 0) update.capture = std::make_shared<StateCopy>();
  CHECK(applier_->Submit(&update), "the applier took no update {}", version);
  in_flight_.push_back(std::move(pending));
}

void Shard::ReportApplied() {
  std::optional<std::uint64_t> done;
  while (!in_flight_.empty() && in_flight_.front()->update.version <= applier_->Completed()) {
    const std::unique_ptr<InFlightUpdate> pending = std::move(in_flight_.front());
    in_flight_.pop_front();
    Update& update = pending->update;
    done = update.version;
    if (!update.capture) continue;
    SavePart({.term = term_,
              .version = update.version,
              .steps = update.meta.steps,
              .optimizer_step = update.optimizer_step,
              .weights = std::move(update.capture->weights),
              .optimizer_state = std::move(update.capture->state)});
  }
  if (done) Send({.version = *done}, wire::ShardApplied{});
}

// Shard 0 asks for it when everything is applied.
void Shard::WriteFinalCheckpointIfApplied() {
  if (!final_version_ || !in_flight_.empty() || checkpoints_.pending() > 0) return;
  CHECK(applier_->Completed() == *final_version_, "the final checkpoint is of version {}, not {}",
        applier_->Completed(), *final_version_);
  StateCopy now = applier_->CaptureNow();
  final_version_.reset();
  SavePart({.term = term_,
            .version = applier_->Completed(),
            .weights = std::move(now.weights),
            .optimizer_state = std::move(now.state)});
}

// Counters, steps, journal and spaces are in the part of shard 0.
void Shard::SavePart(TrainingState state) {
  const std::uint64_t version = state.version;
  const auto part =
      std::make_shared<Checkpoint>(CheckpointOf(config_, layout_, "", {.state = std::move(state)}));
  if (checkpoints_.Submit({.checkpoint = part})) return;
  Send({.version = version}, wire::ShardSaved{"the disk is slower than checkpoint.every_steps"});
}

void Shard::ReportSaved() {
  while (const auto result = checkpoints_.Poll()) {
    Send({.version = result->version},
         wire::ShardSaved{result->error.substr(0, wire::kMaxTextBytes)});
  }
}

// Sends shard 0 a sign of life.
void Shard::Beat() {
  if (static_cast<double>(clock_.NowMs() - sent_ms_) < config_.wire.heartbeat_ms) return;
  Send({.version = applier_->Completed()}, wire::ShardApplied{});
}

void Shard::Send(const wire::Header& header, const wire::Body& body) {
  wire::Header full = header;
  full.sequence = ++sent_;
  full.term = term_;
  full.session = session_;
  full.fingerprint = layout_.fingerprint();
  sent_ms_ = clock_.NowMs();
  if (!unsent_.Send(wire::Encode(full, body))) {
    throw std::runtime_error("the learner does not read what its shards send");
  }
}

}  // namespace starling::learner
