#include "learner/shards/shard_coordinator.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace starling::learner {
namespace {

constexpr std::int64_t kCheckMs = 50;  // between two checks that all shards live
constexpr std::int64_t kReapMs =
    1000;  // after which a shard that cannot be reached must have ended
constexpr std::size_t kSpareSlices =
    8;  // incomplete gradients of an actor beyond updates.in_flight

// The ports behind the learner's own, or free ones if that is a free one.
std::string EndpointOfShard(const std::string& endpoint, const wire::RuntimeDir& runtime_dir,
                            std::size_t shard) {
  if (endpoint == "auto") return runtime_dir.SocketEndpoint(fmt::format("control-{}", shard));
  if (endpoint.starts_with("ipc://")) return fmt::format("{}-{}", endpoint, shard);
  const std::size_t colon = endpoint.rfind(':');
  const std::string port = endpoint.substr(colon + 1);
  if (port == "0" || port == "*") return endpoint;
  return fmt::format("{}:{}", endpoint.substr(0, colon), std::stoul(port) + shard);
}

std::size_t Others(const Config& config) {
  return static_cast<std::size_t>(config.learner.shards) - 1;
}

}  // namespace

ShardCoordinator::ShardCoordinator(const Config& config, wire::Context& context, Engine& engine,
                                   CheckpointKeeper& keeper, Admission& admission,
                                   const Options& options, const Clock& clock)
    : config_(config),
      engine_(engine),
      keeper_(keeper),
      admission_(admission),
      options_(options),
      clock_(clock),
      links_(context, {.others = Others(config),
                       .endpoint = options.runtime_dir.SocketEndpoint("shards"),
                       .term = engine.term(),
                       .session = engine.session(),
                       .version = engine.taken(),
                       .fingerprint = engine.fingerprint()}),
      assembler_(Others(config)),
      checked_ms_(clock.NowMs()) {
  engine_.ShareWith([this](const UpdateRecord& record, const Update& update, bool checkpoint) {
    links_.BroadcastUpdate(record, update, checkpoint);
  });
  keeper_.AwaitPartsOf([this](std::uint64_t version) { return links_.TakeSaved(version); });
}

void ShardCoordinator::Receive() {
  CheckAlive();
  while (const auto event = links_.Receive()) {
    switch (event->kind) {
      case ShardLinks::Event::Kind::kHello:
        unwelcomed_.push_back(event->shard);
        break;
      case ShardLinks::Event::Kind::kReady:
        break;
      case ShardLinks::Event::Kind::kSliceHeld:
        OnSliceHeld(*event);
        break;
      case ShardLinks::Event::Kind::kApplied:
        engine_.FinishedElsewhere(links_.applied());
        break;
      case ShardLinks::Event::Kind::kSaved:
        keeper_.SaveCompleteParts();
        break;
    }
  }
}

// The first checkpoint of a run may still be on its way to the disk.
void ShardCoordinator::WelcomeNew() {
  if (!keeper_.error().empty()) {
    throw std::runtime_error("the shards have no checkpoint to start from: " + keeper_.error());
  }
  if (keeper_.newest().empty()) return;
  const std::filesystem::path weights = options_.runtime_dir.SnapshotPath(engine_.term());
  for (const std::size_t shard : std::exchange(unwelcomed_, {})) {
    links_.Welcome(
        shard,
        {.checkpoint = keeper_.newest(),
         .endpoint = EndpointOfShard(config_.wire.endpoint, options_.runtime_dir, shard),
         .snapshot =
             options_.shared_weights ? wire::RuntimeDir::SlicePath(weights, shard).string() : "",
         .local_key = admission_.local_key()});
  }
}

bool ShardCoordinator::TooManyMissing(std::uint32_t slot, std::uint32_t incarnation) const {
  return assembler_.waiting(slot, incarnation) >=
         kSpareSlices + static_cast<std::size_t>(config_.updates.in_flight);
}

void ShardCoordinator::AddOwnSlice(wire::Envelope envelope, const wire::Message& message) {
  assembler_.Arrived(std::move(envelope), message);
}

void ShardCoordinator::DiscardAllOf(std::uint32_t slot, std::uint32_t incarnation) {
  for (const auto& [name, shard] : assembler_.Discard(slot, incarnation)) {
    links_.Discard(name, shard);
  }
}

// A slice counts only if its sender is a member, is not answered yet, and speaks for itself.
void ShardCoordinator::OnSliceHeld(const ShardLinks::Event& event) {
  const GradientName& name = event.gradient;
  const Member* member = engine_.roster().Find(name.slot);
  const bool expected =
      member && member->incarnation == name.incarnation && name.sequence > member->last_sequence;
  if (!expected) return links_.Discard(name, event.shard);
  if (admission_.has_keys() && member->key != event.key) {
    admission_.CountImpostor(name.slot);
    return links_.Discard(name, event.shard);
  }
  assembler_.Reported(name, event.shard, event.norm);
}

// A shard that has ended takes the whole learner with it: the supervisor starts all of it again.
void ShardCoordinator::CheckAlive() {
  const std::int64_t now = clock_.NowMs(), since = now - checked_ms_;
  if (since < kCheckMs) return;
  checked_ms_ = now;
  std::string lost = options_.ended ? options_.ended() : "";
  const auto silent =
      links_.Silent(since, static_cast<std::int64_t>(config_.wire.timeout_s * 1000));
  if (lost.empty() && silent) {
    lost = fmt::format("shard {} was silent for wire.timeout_s = {} s", *silent,
                       config_.wire.timeout_s);
  }
  if (!links_.all_reachable() && !unreachable_ms_) unreachable_ms_ = now;
  if (lost.empty() && unreachable_ms_ && now - *unreachable_ms_ >= kReapMs) {
    lost = "a shard does not read what it is sent";
  }
  if (lost.empty()) return;
  throw std::runtime_error(fmt::format(
      "{}; the learner cannot go on without it: all shards start again from their last checkpoint, "
      "version {}, and the {} updates since then are lost",
      lost, keeper_.newest_version(), engine_.taken() - keeper_.newest_version()));
}

}  // namespace starling::learner
