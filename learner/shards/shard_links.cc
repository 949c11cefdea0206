#include "learner/shards/shard_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "core/log.h"

namespace starling::learner {
namespace {

// Updates in flight are few (the capacity of the applier), reports as many as gradients.
constexpr int kQueue = 4096;

}  // namespace

ShardLinks::ShardLinks(wire::Context& context, const ShardLinksOptions& options)
    : others_(options.others),
      term_(options.term),
      session_(options.session),
      fingerprint_(options.fingerprint),
      socket_(context, options.endpoint, {.receive_queue = kQueue, .send_queue = kQueue}) {
  for (std::size_t shard = 1; shard <= others_; ++shard) {
    applied_[shard] = options.version;
    unsent_.emplace(shard, [this, shard](const wire::Frames& frames) {
      return socket_.TrySend(peers_.at(shard), frames);
    });
  }
}

std::optional<ShardLinks::Event> ShardLinks::Receive() {
  for (auto& [shard, unsent] : unsent_) reachable_ = unsent.SendWaiting() && reachable_;
  wire::Envelope envelope;
  while (socket_.Receive(envelope)) {
    if (auto event = Interpret(envelope)) return event;
  }
  return std::nullopt;
}

std::optional<ShardLinks::Event> ShardLinks::Interpret(const wire::Envelope& envelope) {
  const wire::DecodeResult decoded = wire::Decode(envelope.frames(), 0);
  if (!decoded) {
    LogWarn("a shard's message was refused: {}", wire::RefusalName(decoded.refusal));
    return std::nullopt;
  }
  const auto& [header, body, tensor] = decoded.message;
  // 1. A hello names its shard; its peer is new.
  if (const auto* hello = std::get_if<wire::ShardHello>(&body)) {
    if (hello->shard < 1 || hello->shard > others_) return std::nullopt;
    peers_[hello->shard] = envelope.peer();
    return Event{.kind = Event::Kind::kHello, .shard = hello->shard};
  }
  // 2. Every other message must come from a known peer of this term.
  const auto known =
      std::ranges::find(peers_, envelope.peer(), [](const auto& p) { return p.second; });
  if (known == peers_.end() || header.term != term_) return std::nullopt;
  Event event{.kind = Event::Kind::kReady, .shard = known->first};
  silent_ms_[event.shard] = 0;
  if (const auto* ready = std::get_if<wire::ShardReady>(&body)) {
    addresses_[event.shard] = ready->address;
  } else if (const auto* held = std::get_if<wire::SliceHeld>(&body)) {
    event.kind = Event::Kind::kSliceHeld;
    event.gradient = {header.slot, header.incarnation, held->gradient};
    event.norm = held->norm;
    event.key = held->key;
  } else if (std::holds_alternative<wire::ShardApplied>(body)) {
    event.kind = Event::Kind::kApplied;
    applied_[event.shard] = header.version;
  } else if (const auto* saved = std::get_if<wire::ShardSaved>(&body)) {
    event.kind = Event::Kind::kSaved;
    saved_[header.version][event.shard] = saved->error;
  } else {
    return std::nullopt;
  }
  return event;
}

std::optional<std::size_t> ShardLinks::Silent(std::int64_t ms, std::int64_t limit_ms) {
  std::optional<std::size_t> silent;
  for (auto& [shard, silent_ms] : silent_ms_) {
    silent_ms += ms;
    if (silent_ms >= limit_ms) silent = shard;
  }
  return silent;
}

std::vector<wire::ShardAddress> ShardLinks::addresses() const {
  const auto addresses = std::views::values(addresses_);
  return {addresses.begin(), addresses.end()};
}

std::uint64_t ShardLinks::applied() const { return std::ranges::min(std::views::values(applied_)); }

std::optional<std::string> ShardLinks::TakeSaved(std::uint64_t version) {
  const auto& errors = saved_[version];
  if (errors.size() < others_) return std::nullopt;
  std::string first;
  for (const auto& [shard, error] : errors) {
    if (first.empty() && !error.empty()) first = fmt::format("shard {}: {}", shard, error);
  }
  saved_.erase(saved_.begin(), saved_.upper_bound(version));  // older ones are overtaken
  return first;
}

// ---- sending

void ShardLinks::Send(std::size_t shard, const wire::Header& header, const wire::Body& body) {
  wire::Header full = header;
  full.sequence = ++sent_;
  full.term = term_;
  full.session = session_;
  full.fingerprint = fingerprint_;
  if (!unsent_.at(shard).Send(wire::Encode(full, body))) reachable_ = false;
}

void ShardLinks::SendAll(const wire::Header& header, const wire::Body& body) {
  for (const auto& [shard, peer] : peers_) Send(shard, header, body);
}

void ShardLinks::Welcome(std::size_t shard, const wire::ShardWelcome& welcome) {
  Send(shard, {.version = applied_.at(shard)}, welcome);
}

void ShardLinks::BroadcastUpdate(const UpdateRecord& record, const Update& update,
                                 bool checkpoint) {
  wire::ApplyUpdate order{.lr = update.lr,
                          .scale = update.scale,
                          .samples = update.samples,
                          .optimizer_step = update.optimizer_step,
                          .steps = update.meta.steps,
                          .entropy = update.meta.entropy,
                          .checkpoint = checkpoint ? 1u : 0u,
                          .more = 1};
  for (std::size_t i = 0; i < record.items.size(); ++i) {
    if (order.items.size() == wire::kMaxUpdateItems) {
      SendAll({.version = update.version}, order);
      order.items.clear();
    }
    const auto& item = record.items[i];
    order.items.push_back({.slot = item.slot,
                           .incarnation = item.incarnation,
                           .gradient = item.sequence,
                           .weight = update.gradients[i].weight,
                           .sums = update.gradients[i].sums ? 1u : 0u,
                           .staleness = update.gradients[i].staleness});
  }
  order.more = 0;
  SendAll({.version = update.version}, order);
}

void ShardLinks::WriteFinalCheckpoint(std::uint64_t version) {
  SendAll({.version = version}, wire::ApplyUpdate{.checkpoint = 1});
}

void ShardLinks::Discard(const GradientName& gradient) {
  SendAll({.slot = gradient.slot, .incarnation = gradient.incarnation},
          wire::DiscardSlice{gradient.sequence});
}

void ShardLinks::Discard(const GradientName& gradient, std::size_t shard) {
  Send(shard, {.slot = gradient.slot, .incarnation = gradient.incarnation},
       wire::DiscardSlice{gradient.sequence});
}

void ShardLinks::ReloadKeys() { SendAll({}, wire::ReloadKeys{}); }

void ShardLinks::Leave() {
  SendAll({}, wire::Leave{wire::LeaveReason::kShuttingDown, "the learner has ended"});
}

}  // namespace starling::learner
