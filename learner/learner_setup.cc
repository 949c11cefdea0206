// How a learner is put together.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "core/config/config_rules.h"
#include "core/error.h"
#include "core/file.h"
#include "learner/apply/schedule.h"
#include "learner/learner.h"
#include "learner/storage/run_lock.h"

namespace starling::learner {

namespace {

// In floats. Below it, waking another thread costs more than the work that it would do.
constexpr std::size_t kLargeNet = 1 << 20;

std::string RouterEndpoint(const Config& config, const wire::RuntimeDir& runtime_dir) {
  return config.wire.endpoint == "auto" ? runtime_dir.SocketEndpoint("control")
                                        : config.wire.endpoint;
}

// Weights and gradients go through shared memory where every actor is on this host: on ipc. Over
// tcp weights are fetched.
bool OnThisHost(const Config& config) { return !config.wire.endpoint.starts_with("tcp://"); }

// A fresh start fails if shared memory is full; a resumed run falls back to sockets. Over tcp
// actors do not read it, but the evaluator, which runs on this host, does.
wire::SnapshotWriter MakeSnapshot(const Config& config, std::size_t floats,
                                  std::uint64_t fingerprint, const std::filesystem::path& path,
                                  std::uint32_t term, bool resume) {
  // With a delay a version is needed until delay updates later, while the next one is written.
  const std::size_t kept = config.staleness.delayed() ? config.staleness.delay + 2 : 0;
  const std::size_t slots = std::max(wire::kSnapshotSlots, kept);
  const bool evaluates = config.eval.every_steps > 0;
  if (!OnThisHost(config) && !evaluates) return {{}, floats, fingerprint, term, slots};
  if (OnThisHost(config) && !resume) return {path, floats, fingerprint, term, slots};
  return wire::SnapshotWriter::SharedIfThereIsRoom(path, floats, fingerprint, term, slots);
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
void Announce(const std::filesystem::path& file, const std::string& address,
              const std::string& bound) {
  const std::string port = bound.substr(bound.rfind(':'));
  WriteFileAtomically(file, fmt::format("tcp://{}{}\n", address, port));
}

std::uint32_t NewSession() {
  std::random_device random;
  return std::max(1u, static_cast<std::uint32_t>(random()));
}

}  // namespace

Learner::Learner(const Config& config, InitialNet net, LearnerOptions options)
    // In this order, so that nothing of a run that another learner holds is changed.
    : Learner{config,
              net,
              options,
              wire::RuntimeDir::Create(wire::RuntimeRoot(config.wire.runtime_dir), options.run_dir),
              LockRun(options.run_dir),
              FindStart(config, net, options.run_dir, options.resume,
                        RoomWait(options.run_dir, options.stop_fd, options.abandoned))} {}

Learner::Learner(const Config& config, InitialNet net, LearnerOptions options,
                 wire::RuntimeDir runtime_dir, LockedFile lock, Start start)
    : config_(config),
      layout_(std::move(net.layout)),
      slice_(OwnSlice(config, layout_.size())),
      trained_(slice_.Before(layout_.trained())),
      cut_at_start_(start.actors ? std::optional(start.state.version) : std::nullopt),
      options_(std::move(options)),
      real_(options_.clock ? *options_.clock : steady_clock_),
      clock_(real_),
      runtime_dir_(std::move(runtime_dir)),
      lock_(std::move(lock)),
      snapshot_(MakeSnapshot(config, slice_.size, layout_.fingerprint(),
                             runtime_dir_.SnapshotPath(start.state.term), start.state.term,
                             options_.resume)),
      newest_weights_(snapshot_, wire::ElementTypeOf(config.wire.weights)),
      engine_(config_, start, snapshot_,
              {.run_dir = options_.run_dir,
               .fingerprint = layout_.fingerprint(),
               .session = NewSession(),
               .slice = slice_,
               .trained = trained_,
               .exact = options_.exact,
               .redo = options_.redo,
               .sum_ahead = slice_.size >= kLargeNet && config_.learner.shards == 1 &&
                            config_.learner.apply == ApplyMode::kLanes,
               .may_save = [this] { return keeper_.idle(); },
               .on_progress = [this] { wake_up_.Notify(); }}),
      keeper_(
          config_, layout_, options_.run_dir, start, [this] { wake_up_.Notify(); }, clock_),
      context_(IoThreads(config_.wire)),
      admission_(config_, context_, runtime_dir_, engine_.counters().frames_refused, clock_),
      socket_(context_, RouterEndpoint(config, runtime_dir_),
              {.max_elements = slice_.size,
               .silence_ms = static_cast<int>(config_.wire.timeout_s * 1000.0),
               .keys = admission_.keys()}),
      outbox_(engine_,
              [this](const std::string& peer, const wire::Frames& frames) {
                return socket_.TrySend(peer, frames);
              }),
      cuts_(CutMs()),
      membership_(
          config_, engine_, outbox_, admission_,
          {.endpoint = socket_.endpoint(),
           .buffers = OnThisHost(config) && snapshot_.shared() && config.learner.shards == 1
                          ? &runtime_dir_
                          : nullptr,
           .background = &copies_,
           .welcome = [this] { return MakeWelcome(); },
           .bytes_from = [this](const std::string& peer) { return socket_.BytesFrom(peer); },
           .on_left =
               [this](std::uint32_t slot, std::uint32_t incarnation) {
                 if (shards_) shards_->DiscardAllOf(slot, incarnation);
                 cuts_.Leave(slot);
                 left_at_end_ |= stopped_ms_.has_value();
               }},
          clock_),
      reporter_(config_, options_.run_dir, engine_, options_.sinks, clock_, real_),
      watch_(options_.refusals),
      laps_(real_),
      checks_(slice_.size >= kLargeNet, [this] { wake_up_.Notify(); }),
      copies_(slice_.size >= kLargeNet, [this] { wake_up_.Notify(); }) {
  // 1. Actors and evaluator on this host read the weights from shared memory.
  if (OnThisHost(config) && snapshot_.shared()) {
    beacon_.emplace(context_, runtime_dir_.SocketEndpoint("beacon"));
  }
  if (config.eval.every_steps > 0 && !snapshot_.shared()) {
    LogWarn("the evaluator cannot see the weights: only those at the end are evaluated");
  }
  if (const std::string why = WhyToWarmUp(config_); !options_.resume && !why.empty()) {
    LogWarn("{}", why);
  }
  if (options_.exact && options_.resume && !start.actors) {
    LogWarn("{} has no states of actors: all of them begin afresh", start.checkpoint);
  }
  // 2. The checkpoint of version 0. The other shards start from it.
  if (!options_.resume) keeper_.Save(engine_.ContentOf(std::move(start.state)));
  if (config_.learner.shards > 1) {
    shards_.emplace(config_, context_, engine_, keeper_, admission_,
                    ShardCoordinator::Options{.runtime_dir = runtime_dir_,
                                              .shared_weights = snapshot_.shared(),
                                              .ended = options_.shard_ended},
                    clock_);
  }
  // 3. Publish the endpoint last: actors that find it may connect at once.
  runtime_dir_.WriteEndpoint(socket_.endpoint());
  if (!config_.wire.address.empty()) {
    Announce(endpoint_file(), config_.wire.address, socket_.endpoint());
  }
  LogInfo("term {}, listening on {}", engine_.term(), socket_.endpoint());
}

wire::Welcome Learner::MakeWelcome() const {
  wire::Welcome welcome{.config = ToToml(config_)};
  if (config_.net.external()) {
    for (const net::Parameter& parameter : layout_.parameters()) {
      welcome.tensors.push_back({parameter.name, parameter.shape});
    }
  }
  if (shards_) welcome.shards = shards_->addresses();
  if (beacon_) {
    welcome.snapshot = runtime_dir_.SnapshotPath(engine_.term()).string();
    welcome.beacon = beacon_->endpoint();
  } else {  // over tcp only the evaluator reads shared memory
    for (wire::ShardAddress& shard : welcome.shards) shard.snapshot.clear();
  }
  return welcome;
}

}  // namespace starling::learner
