// The learner's dealings with the other processes it is cut into (learner/shards/shard_links.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/log.h"
#include "learner/learner.h"

namespace starling::learner {
namespace {

constexpr std::int64_t kLookMs = 50;       // between two looks whether all shards live
constexpr std::int64_t kReapMs = 1000;     // until one that cannot be reached must have been reaped
constexpr std::int64_t kAwaitMs = 10'000;  // between two complaints that they are not ready
// Gradients of an actor that are not whole, beside those that may be under way.
constexpr std::size_t kSpare = 8;
constexpr std::ptrdiff_t kMostUnsaved = 2;  // checkpoints of which parts are being written

// A port for each, those behind the learner's own; a free one where that is.
std::string EndpointOfShard(const std::string& endpoint, const wire::RunPlace& place,
                            std::size_t shard) {
  if (endpoint == "auto") return place.SocketEndpoint(fmt::format("control-{}", shard));
  if (endpoint.starts_with("ipc://")) return fmt::format("{}-{}", endpoint, shard);
  const std::size_t colon = endpoint.rfind(':');
  const std::string port = endpoint.substr(colon + 1);
  if (port == "0" || port == "*") return endpoint;
  return fmt::format("{}:{}", endpoint.substr(0, colon), std::stoul(port) + shard);
}

}  // namespace

void Learner::OpenShards() {
  const auto others = static_cast<std::size_t>(config_.learner.shards) - 1;
  shards_.emplace(context_, ShardsOptions{.others = others,
                                          .endpoint = place_.SocketEndpoint("shards"),
                                          .term = term_,
                                          .session = session_,
                                          .version = pipeline_.taken(),
                                          .fingerprint = layout_.fingerprint()});
  assembly_.emplace(others);
  pipeline_.ShareWith([this](const UpdateRecord& record, const Update& update, bool checkpoint) {
    shards_->Tell(record, update, checkpoint);
  });
}

// Until all of them are ready. False: told to stop before that.
bool Learner::AwaitShards() {
  std::array<wire::PollItem, 3> items{};
  items[0].socket = &shards_->socket();
  items[1].fd = bell_.fd();
  items[2].fd = options_.stop_fd;
  RateLimitedLog waiting(kAwaitMs);
  while (!shards_->ready()) {
    wire::Poll(items, kLookMs);
    bell_.Silence();
    if (items[2].readable || MustStop()) return false;
    const auto waited_ms = static_cast<double>(clock_.NowMs() - started_ms_);
    if (waited_ms >= config_.updates.start_timeout_s * 1000.0) {
      throw std::runtime_error(fmt::format(
          "not every shard has read the checkpoint and begun within updates.start_timeout_s = {} s",
          config_.updates.start_timeout_s));
    }
    if (waited_ms >= static_cast<double>(kAwaitMs)) {
      waiting.Warn(clock_.NowMs(), "waiting for the shards to read the checkpoint and to begin");
    }
    if (gate_) WatchGate(/*reload=*/false);  // actors may be here already
    CollectCheckpoints();
    HearShards();
    WelcomeShards();
  }
  LogInfo("{} shards are ready", config_.learner.shards);
  return true;
}

// They begin with a checkpoint; the first one of a run may still be on its way to the disk.
void Learner::WelcomeShards() {
  if (!checkpoint_trouble_.empty()) {
    throw std::runtime_error("the shards have nothing to begin with: " + checkpoint_trouble_);
  }
  if (last_checkpoint_.empty()) return;
  for (const std::size_t shard : std::exchange(unwelcomed_, {})) {
    const bool shared = snapshot_.shared();
    shards_->Welcome(
        shard,
        {.checkpoint = last_checkpoint_,
         .endpoint = EndpointOfShard(config_.wire.endpoint, place_, shard),
         .snapshot =
             shared ? wire::RunPlace::SlicePath(place_.SnapshotPath(term_), shard).string() : "",
         .local_key = local_key_});
  }
}

void Learner::HearShards() {
  WatchShards();
  while (const auto heard = shards_->Hear()) {
    switch (heard->what) {
      case Shards::Heard::What::kHello:
        unwelcomed_.push_back(heard->shard);
        break;
      case Shards::Heard::What::kReady:
        break;
      case Shards::Heard::What::kSlice:
        HearSlice(*heard);
        break;
      case Shards::Heard::What::kApplied:
        pipeline_.FinishedElsewhere(shards_->applied());
        break;
      case Shards::Heard::What::kSaved:
        SaveWhatAllHave();
        break;
    }
  }
  JudgeWhole();
}

// The message to us is one part of a gradient; what it is worth is seen when all are there.
void Learner::Gather(wire::Envelope envelope, const wire::Message& message) {
  const wire::Header& header = message.header;
  Member* member = SenderOf(header);
  if (!member || header.fingerprint != layout_.fingerprint() || header.count != slice_.size ||
      header.sequence <= member->last_sequence) {
    OnGradient(std::move(envelope), message);  // refused in any case
    return;
  }
  member->heard_ms = clock_.NowMs();
  member->peer = envelope.peer();
  if (assembly_->waiting(header.slot, header.incarnation) >=
      kSpare + static_cast<std::size_t>(config_.updates.in_flight)) {
    Say(member->peer, member, wire::Bye{wire::ByeReason::kLeaving, "slices are missing"});
    return Remove(header.slot, "sends gradients whose slices do not come");
  }
  assembly_->Arrived(std::move(envelope), message);
  JudgeWhole();
}

// Slices of those who are no members (any more), or of gradients that were answered, are of no use; and
// nobody sends them for another.
void Learner::HearSlice(const Shards::Heard& heard) {
  const GradientName& name = heard.gradient;
  const Member* member = roster_.Find(name.slot);
  if (!member || member->incarnation != name.incarnation ||
      name.sequence <= member->last_sequence) {
    return shards_->Forget(name, heard.shard);
  }
  if (gate_ && member->key != heard.key) {
    CountImpostor(name.slot);
    return shards_->Forget(name, heard.shard);
  }
  assembly_->Reported(name, heard.shard, heard.norm);
}

void Learner::JudgeWhole() {
  while (auto whole = assembly_->TakeWhole()) {
    const wire::Message message = whole->message;
    const wire::Header& header = message.header;
    const bool held = OnGradient(std::move(whole->envelope), message, whole->other_square);
    if (!held) shards_->Forget({header.slot, header.incarnation, header.sequence});
  }
}

void Learner::ForgetSlices(std::uint32_t slot, std::uint32_t incarnation) {
  for (const auto& [name, shard] : assembly_->Forget(slot, incarnation)) {
    shards_->Forget(name, shard);
  }
}

// What the shards say of their parts is waited for in any case, or it would be taken for an answer to
// something later.
void Learner::AwaitParts(std::shared_ptr<const Checkpoint> checkpoint) {
  const std::uint64_t version = checkpoint->version;
  const auto kept =
      std::ranges::count_if(unsaved_, [](const auto& u) { return u.checkpoint != nullptr; });
  if (kept >= kMostUnsaved) {
    checkpoint.reset();
    newest_saved_.reset();
    SayDiskIsSlow(version);
  }
  unsaved_.push_back({version, std::move(checkpoint)});
  SaveWhatAllHave();
}

// A checkpoint is written by us when all others have written their parts: then it is complete.
void Learner::SaveWhatAllHave() {
  std::string error;
  while (!unsaved_.empty() && shards_->Saved(unsaved_.front().version, error)) {
    const auto checkpoint = std::move(unsaved_.front().checkpoint);
    unsaved_.pop_front();
    if (!checkpoint) continue;
    if (error.empty() && !checkpoints_.Submit(checkpoint)) {
      error = "the disk is slower than checkpoint.every_steps";
    }
    if (error.empty()) continue;
    if (newest_saved_ == checkpoint->version) newest_saved_.reset();
    checkpoint_trouble_ = error;
    LogError("no checkpoint of version {}: {}", checkpoint->version, error);
  }
}

// One that has ended takes the learner with it: the supervisor starts all of it again.
void Learner::WatchShards() {
  const std::int64_t now = clock_.NowMs(), since = now - shards_looked_ms_;
  if (since < kLookMs) return;
  shards_looked_ms_ = now;
  std::string trouble = options_.shard_trouble ? options_.shard_trouble() : "";
  // Of our own time: if all of us were stopped for a while nobody was silent.
  const auto silent = shards_->Silent(std::min(since, 2 * kLookMs),
                                      static_cast<std::int64_t>(config_.wire.timeout_s * 1000));
  if (trouble.empty() && silent) {
    trouble = fmt::format("shard {} was silent for wire.timeout_s = {} s", *silent,
                          config_.wire.timeout_s);
  }
  if (!shards_->all_reachable() && unreachable_ms_ == 0) unreachable_ms_ = now;
  if (trouble.empty() && unreachable_ms_ > 0 && now - unreachable_ms_ >= kReapMs) {
    trouble = "a shard does not read what it is told";
  }
  if (trouble.empty()) return;
  throw std::runtime_error(fmt::format(
      "{}, and without it the others are of no use: all go back to their last checkpoint, of "
      "version {}, and the {} updates since then are lost",
      trouble, last_saved_, pipeline_.taken() - last_saved_));
}

// The end of a run: the last parts, once whatever is being written is.
void Learner::SealShards() {
  std::array<wire::PollItem, 2> items{};
  items[0].socket = &shards_->socket();
  items[1].fd = bell_.fd();
  const auto settle = [&] {
    while (!unsaved_.empty() || checkpoints_.pending() > 0) {
      wire::Poll(items, kLookMs);
      bell_.Silence();
      HearShards();
      CollectCheckpoints();
    }
    CollectCheckpoints();
  };
  settle();
  if (newest_saved_ != pipeline_.published()) {
    shards_->Seal(pipeline_.published());
    SaveCheckpoint({pipeline_.Settle(), counters_.Save(), journal_.offset()});
    settle();
  }
}

}  // namespace starling::learner
