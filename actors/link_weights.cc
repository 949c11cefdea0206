// The link's other half: grants, and the weights that they are for.
#include <memory>
#include <utility>

#include "actors/link.h"
#include "core/error.h"
#include "core/log.h"

namespace starling::actors {

namespace {

constexpr std::int64_t kPumpMs = 50;
constexpr std::int64_t kSliceMs = 1;  // between two looks for a shard's weights in shared memory

}  // namespace

std::optional<wire::Grant> LearnerLink::NextGrant() {
  const std::int64_t begin = clock_.NowNs();
  const std::int64_t give_up_ms =
      clock_.NowMs() + AnswerMs() +
      static_cast<std::int64_t>(config_.updates.start_timeout_s * 1000.0);
  while (grants_.empty()) {
    if (!Pump(kPumpMs)) return std::nullopt;
    if (clock_.NowMs() < give_up_ms) continue;
    LogWarn("no grant came: joining again");  // one was lost with a connection, say
    state_ = LinkState::kLost;
    return std::nullopt;
  }
  if (!Pump(0)) return std::nullopt;
  const wire::Grant grant = grants_.front();
  grants_.pop_front();
  // What came before the first one was the start.
  wait_us_ = std::exchange(granted_, true) ? UsSince(begin) : 0;
  return grant;
}

bool LearnerLink::Refresh(std::uint64_t version, std::span<float> weights,
                          wire::SnapshotMeta& meta) {
  const std::int64_t begin = clock_.NowNs();
  const bool up = shards_ ? RenewSlices(version, weights, meta) : Renew(version, weights, meta);
  beacon_.reset();
  refresh_us_ = UsSince(begin);
  return up;
}

bool LearnerLink::Renew(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta) {
  const bool held = meta.term == term_;
  if (!reader_) return (held && meta.version >= version) || Fetch(version, weights, meta);
  const std::int64_t fetch_at_ms =
      clock_.NowMs() + static_cast<std::int64_t>(config_.wire.fetch_after_ms);
  while (true) {
    const auto latest = reader_->Latest();
    if (held && latest == meta.version && meta.version >= version) return true;  // still the newest
    if (latest >= version && reader_->Read(version, weights, meta)) return true;
    const std::int64_t left = fetch_at_ms - clock_.NowMs();
    if (left <= 0) return Fetch(version, weights, meta);
    if (!beacon_) ListenForVersions();
    if (!Pump(left)) return false;
  }
}

// Each slice is as new as its shard has it: what is computed on all is as old as the oldest.
bool LearnerLink::RenewSlices(std::uint64_t version, std::span<float> weights,
                              wire::SnapshotMeta& meta) {
  if (!Renew(version, weights.first(shards_->first().size), first_meta_)) return false;
  const std::int64_t give_up_ms = clock_.NowMs() + AnswerMs();
  while (!shards_->Refresh(version, weights, meta)) {
    if (clock_.NowMs() >= give_up_ms) {
      LogWarn("no weights of version {} or newer from {}: joining again", version,
              shards_->Behind(version));
      state_ = LinkState::kLost;
      return false;
    }
    auto items = shards_->items(/*want_writable=*/false);
    wire::Poll(items, kSliceMs);
    if (!Pump(0)) return false;
  }
  if (first_meta_.version <= meta.version) meta = first_meta_;
  return true;
}

// Only while one is waited for, which is rare, as a grant is sent once its version is there: every
// version wakes every actor that listens, and with many actors that is most of what wakes them. Who
// begins to listen is told the newest, so none is missed.
void LearnerLink::ListenForVersions() {
  if (welcome_.beacon.empty()) return;
  try {
    beacon_ = std::make_unique<wire::BeaconReceiver>(context_, welcome_.beacon);
  } catch (const UserError& error) {  // then the weights are fetched
    LogWarn("{}", error.what());
    welcome_.beacon.clear();
  }
}

bool LearnerLink::Fetch(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta) {
  while (!fetched_.Take(version, weights, meta)) {
    if (fetched_.MustAsk(clock_.NowMs())) {
      if (!SendSoon(wire::Fetch{.version = version})) return false;
      ExpectWeights();
    } else if (!Pump(kPumpMs)) {
      return false;
    }
  }
  return true;
}

void LearnerLink::ExpectWeights() { fetched_.Expect(clock_.NowMs() + FetchAgainMs()); }

// Who holds one grant at a time waits for it: the weights come right behind it.
bool LearnerLink::WeightsFollow() const {
  return welcome_.snapshot.empty() && config_.updates.in_flight == 1;
}

}  // namespace starling::actors
