#include "learner/shards/shard_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "core/log.h"

namespace starling::learner {
namespace {

// Verdicts under way are few (the applier's capacity), reports as many as gradients.
constexpr int kQueue = 4096;

}  // namespace

Shards::Shards(wire::Context& context, const ShardsOptions& options)
    : others_(options.others),
      term_(options.term),
      session_(options.session),
      fingerprint_(options.fingerprint),
      socket_(context, options.endpoint, {.receive_queue = kQueue, .send_queue = kQueue}) {
  for (std::size_t shard = 1; shard <= others_; ++shard) applied_[shard] = options.version;
}

std::optional<Shards::Heard> Shards::Hear() {
  wire::Envelope envelope;
  while (socket_.Receive(envelope)) {
    if (auto heard = Understand(envelope)) return heard;
  }
  return std::nullopt;
}

std::optional<Shards::Heard> Shards::Understand(const wire::Envelope& envelope) {
  const wire::DecodeResult decoded = wire::Decode(envelope.frames(), 0);
  if (!decoded) {
    LogWarn("a shard's message was refused: {}", wire::RefusalName(decoded.refusal));
    return std::nullopt;
  }
  const auto& [header, body, tensor] = decoded.message;
  if (const auto* hello = std::get_if<wire::ShardHello>(&body)) {
    if (hello->shard < 1 || hello->shard > others_) return std::nullopt;
    peers_[hello->shard] = envelope.peer();
    return Heard{.what = Heard::What::kHello, .shard = hello->shard};
  }
  const auto known =
      std::ranges::find(peers_, envelope.peer(), [](const auto& p) { return p.second; });
  if (known == peers_.end() || header.term != term_) return std::nullopt;
  Heard heard{.what = Heard::What::kReady, .shard = known->first};
  silent_ms_[heard.shard] = 0;
  if (const auto* ready = std::get_if<wire::ShardReady>(&body)) {
    places_[heard.shard] = ready->place;
  } else if (const auto* held = std::get_if<wire::SliceHeld>(&body)) {
    heard.what = Heard::What::kSlice;
    heard.gradient = {header.slot, header.incarnation, held->gradient};
    heard.norm = held->norm;
    heard.key = held->key;
  } else if (std::holds_alternative<wire::ShardApplied>(body)) {
    heard.what = Heard::What::kApplied;
    applied_[heard.shard] = header.version;
  } else if (const auto* saved = std::get_if<wire::ShardSaved>(&body)) {
    heard.what = Heard::What::kSaved;
    saved_[header.version][heard.shard] = saved->error;
  } else {
    return std::nullopt;
  }
  return heard;
}

std::optional<std::size_t> Shards::Silent(std::int64_t ms, std::int64_t patience_ms) {
  std::optional<std::size_t> silent;
  for (auto& [shard, silent_ms] : silent_ms_) {
    silent_ms += ms;
    if (silent_ms >= patience_ms) silent = shard;
  }
  return silent;
}

std::vector<wire::ShardPlace> Shards::places() const {
  const auto places = std::views::values(places_);
  return {places.begin(), places.end()};
}

std::uint64_t Shards::applied() const { return std::ranges::min(std::views::values(applied_)); }

bool Shards::Saved(std::uint64_t version, std::string& error) {
  const auto& errors = saved_[version];
  if (errors.size() < others_) return false;
  error.clear();
  for (const auto& [shard, what] : errors) {
    if (error.empty() && !what.empty()) error = fmt::format("shard {}: {}", shard, what);
  }
  saved_.erase(saved_.begin(), saved_.upper_bound(version));  // older ones are overtaken
  return true;
}

// ---- telling

void Shards::Send(std::size_t shard, const wire::Header& header, const wire::Body& body) {
  wire::Header full = header;
  full.sequence = ++said_;
  full.term = term_;
  full.session = session_;
  full.fingerprint = fingerprint_;
  if (!socket_.Send(peers_.at(shard), wire::Encode(full, body))) reachable_ = false;
}

void Shards::SendAll(const wire::Header& header, const wire::Body& body) {
  for (const auto& [shard, peer] : peers_) Send(shard, header, body);
}

void Shards::Welcome(std::size_t shard, const wire::ShardWelcome& welcome) {
  Send(shard, {.version = applied_.at(shard)}, welcome);
}

void Shards::Tell(const UpdateRecord& record, const Update& update, bool checkpoint) {
  wire::Verdict verdict{.lr = update.lr,
                        .scale = update.scale,
                        .optimizer_step = update.optimizer_step,
                        .steps = update.meta.steps,
                        .entropy = update.meta.entropy,
                        .checkpoint = checkpoint ? 1u : 0u};
  for (std::size_t i = 0; i < record.items.size(); ++i) {
    const auto& item = record.items[i];
    verdict.items.push_back({.slot = item.slot,
                             .incarnation = item.incarnation,
                             .gradient = item.sequence,
                             .weight = update.gradients[i].weight});
  }
  SendAll({.version = update.version}, verdict);
}

void Shards::Seal(std::uint64_t version) {
  SendAll({.version = version}, wire::Verdict{.checkpoint = 1});
}

void Shards::Forget(const GradientName& gradient) {
  SendAll({.slot = gradient.slot, .incarnation = gradient.incarnation},
          wire::Forget{gradient.sequence});
}

void Shards::Forget(const GradientName& gradient, std::size_t shard) {
  Send(shard, {.slot = gradient.slot, .incarnation = gradient.incarnation},
       wire::Forget{gradient.sequence});
}

void Shards::ReloadKeys() { SendAll({}, wire::ReloadKeys{}); }

void Shards::Farewell() {
  SendAll({}, wire::Bye{wire::ByeReason::kShuttingDown, "the learner has ended"});
}

}  // namespace starling::learner
