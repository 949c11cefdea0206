// The client's grants and weights.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "actors/learner_client.h"
#include "core/error.h"
#include "core/log.h"

namespace starling::actors {

namespace {

constexpr std::int64_t kSliceMs = 1;  // between two checks for a shard's weights in shared memory

}  // namespace

void FetchedWeights::Add(wire::Envelope envelope, const wire::Message& message) {
  const auto& body = std::get<wire::Weights>(message.body);
  coming_ = std::max<std::int64_t>(coming_ - 1, 0);
  here_ = {.envelope = std::move(envelope),
           .meta = {.term = message.header.term,
                    .version = message.header.version,
                    .steps = body.steps,
                    .entropy = body.entropy},
           .message = message};
}

bool FetchedWeights::Take(std::uint64_t version, std::span<float> weights,
                          wire::SnapshotMeta& meta) {
  if (!here_) return false;
  const Newest here = *std::exchange(here_, std::nullopt);
  if (here.meta.version < version || here.message.header.count != weights.size()) return false;
  here.message.CopyTo(weights);
  meta = here.meta;
  return true;
}

std::optional<wire::Grant> LearnerClient::NextGrant(std::int64_t wait_ms) {
  // 1. Wait for a grant.
  Session& session = *session_;
  const std::int64_t end_ms = real_.NowMs() + wait_ms;
  if (!session.waits_ns) session.waits_ns = real_.NowNs();
  const std::int64_t start_ms =
      static_cast<std::int64_t>(session.config.updates.start_timeout_s * 1000.0);
  std::optional<std::int64_t>& give_up_ms = session.deadlines.grant;
  if (!give_up_ms) give_up_ms = clock_.NowMs() + session_->GrantMs() + start_ms;
  while (session.grants.empty()) {
    const std::int64_t left_ms = std::max<std::int64_t>(end_ms - real_.NowMs(), 0);
    if (!Pump(std::min(left_ms, kPumpMs)) || (session.cut > 0 && !SendState())) return std::nullopt;
    if (!session.grants.empty()) break;
    if (clock_.NowMs() >= *give_up_ms) {
      Lose("no grant arrived: joining again");  // it may have been lost with a connection
      return std::nullopt;
    }
    if (real_.NowMs() >= end_ms) return std::nullopt;
  }
  give_up_ms.reset();
  // 2. Handle the newest messages before spending it.
  if (!Pump(0) || (session.cut > 0 && !SendState())) return std::nullopt;
  return TakeGrant(*std::exchange(session.waits_ns, std::nullopt));
}

std::optional<wire::Grant> LearnerClient::GrantAhead(const wire::SnapshotMeta& held) {
  const std::int64_t begin = real_.NowNs();
  Session& session = *session_;
  if (!Pump(0) || session.cut > 0 || session.grants.empty()) return std::nullopt;
  const std::uint64_t version = session.grants.front().version;
  const bool fetches = !session.reader || session.shards;
  const bool here = session.Suits(held, version);
  if (fetches && !here && (session.shards || !session.fetched.Here(version))) return std::nullopt;
  return TakeGrant(begin);
}

// Takes the first grant, which the actor has waited for since `begin`.
wire::Grant LearnerClient::TakeGrant(std::int64_t begin) {
  Session& session = *session_;
  const wire::Grant grant = session.grants.front();
  session.grants.pop_front();
  // The wait for the first grant is the start of the run, not lost time.
  const std::int64_t now = real_.NowNs(), before = std::exchange(session.granted_ns, now);
  wait_us_ += before > 0 ? UsSince(begin) : 0;
  // If it is longer than an unroll, grants come in bursts: all grants of the next burst will be
  // used at once, and each needs its weights by then.
  const bool far = before > 0 && now - begin > begin - before;
  session.far_grants =
      far ? session.config.updates.in_flight : std::max<std::int64_t>(session.far_grants - 1, 0);
  return grant;
}

std::optional<wire::Grant> LearnerClient::Acted(const wire::Grant& grant) {
  Session& session = *session_;
  const std::int64_t begin = real_.NowNs(), give_up_ms = clock_.NowMs() + session.AnswerMs();
  const std::uint32_t weights = session.reader ? 0 : 1;
  session.grants.push_front(grant);
  if (!SendSoon(++session.sequence, wire::Acted{.grant = grant.number, .weights = weights})) {
    return std::nullopt;
  }
  while (session.grants.front().acting != 0) {
    if (!Pump(kPumpMs)) return std::nullopt;
    if (clock_.NowMs() < give_up_ms) continue;
    Lose("a grant was not renewed: joining again");
    return std::nullopt;
  }
  const wire::Grant anew = session.grants.front();
  session.grants.pop_front();
  wait_us_ += UsSince(begin);
  return anew;
}

bool LearnerClient::Refresh(std::uint64_t version, std::span<float> weights,
                            wire::SnapshotMeta& meta) {
  const std::int64_t begin = real_.NowNs();
  const bool joined = session_->shards ? RefreshSlices(version, weights, meta)
                                       : RefreshWhole(version, weights, meta);
  session_->beacon.reset();
  refresh_us_ += prefetch_us_ + UsSince(begin);
  prefetch_us_ = 0;
  return joined;
}

bool LearnerClient::RefreshWhole(std::uint64_t version, std::span<float> weights,
                                 wire::SnapshotMeta& meta) {
  auto& reader = session_->reader;
  const bool delayed = session_->config.staleness.delayed();
  // 1. Without shared memory: wait for new weights only if the held ones are too old.
  if (!reader) {
    if (!session_->Suits(meta, version)) return Fetch(version, weights, meta);
    if (delayed) return true;
    session_->fetched.Take(meta.version + 1, weights, meta);  // newer ones, if they are here
    return true;
  }
  // 2. With it: read the newest version, or wait for it, and request it if it does not arrive.
  const std::int64_t fetch_at_ms =
      clock_.NowMs() + static_cast<std::int64_t>(session_->config.wire.fetch_after_ms);
  while (true) {
    const auto latest = reader->Latest();
    const bool is_it = delayed || latest == meta.version;  // that version, or still the newest
    if (is_it && session_->Suits(meta, version)) return true;
    if (latest >= version && ReadShared(version, weights, meta)) return true;
    const std::int64_t left_ms = fetch_at_ms - clock_.NowMs();
    if (left_ms <= 0) return Fetch(version, weights, meta);
    if (!session_->beacon) ListenForVersions();
    if (!Pump(left_ms)) return false;
  }
}

bool LearnerClient::ReadShared(std::uint64_t version, std::span<float> weights,
                               wire::SnapshotMeta& meta) {
  wire::SnapshotReader& reader = *session_->reader;
  const bool delayed = session_->config.staleness.delayed();
  return (delayed && reader.ReadVersion(version, weights, meta)) ||
         reader.Read(version, weights, meta);
}

// Each slice has the newest version of its shard. The base of a gradient is the oldest of them.
bool LearnerClient::RefreshSlices(std::uint64_t version, std::span<float> weights,
                                  wire::SnapshotMeta& meta) {
  // 1. The first slice is the learner's own.
  ShardLinks& shards = *session_->shards;
  wire::SnapshotMeta& first = session_->first_meta;
  if (!RefreshWhole(version, weights.first(shards.first().size), first)) return false;
  // 2. Wait for the slices of all shards.
  const std::int64_t give_up_ms = clock_.NowMs() + session_->AnswerMs();
  while (!shards.Refresh(version, weights, meta)) {
    if (clock_.NowMs() >= give_up_ms) {
      Lose(fmt::format("no weights of version {} or newer from {}: joining again", version,
                       shards.Behind(version)));
      return false;
    }
    auto items = shards.items(/*want_writable=*/false);
    wire::Poll(items, kSliceMs);
    if (!Pump(0)) return false;
  }
  // 3. Describe the oldest slice.
  if (first.version <= meta.version) meta = first;
  return true;
}

// Opens the beacon. Every version wakes every listener, so an actor listens only while it waits for
// a version. That is rare: a grant is sent after its version is published. A new listener receives
// the newest version, so it misses none.
void LearnerClient::ListenForVersions() {
  std::string& endpoint = session_->welcome.beacon;
  if (endpoint.empty()) return;
  try {
    session_->beacon = std::make_unique<wire::BeaconReceiver>(context_, endpoint);
  } catch (const UserError& error) {  // without a beacon the weights are fetched
    LogWarn("{}", error.what());
    endpoint.clear();
  }
}

bool LearnerClient::Fetch(std::uint64_t version, std::span<float> weights,
                          wire::SnapshotMeta& meta) {
  FetchedWeights& fetched = session_->fetched;
  while (!fetched.Take(version, weights, meta)) {
    if (!fetched.MustAsk(clock_.NowMs())) {
      if (!Pump(kPumpMs)) return false;
    } else if (fetched.coming() > 0 && IsArriving()) {
      fetched.Extend(clock_.NowMs() + session_->FetchAgainMs());
    } else {
      fetched.GiveUp();
      if (!Ask(version)) return false;
    }
  }
  return true;
}

bool LearnerClient::Ask(std::uint64_t version) {
  if (!SendSoon(++session_->sequence, wire::Fetch{.version = version})) return false;
  session_->ExpectWeights(clock_.NowMs());
  return true;
}

void LearnerClient::Prefetch(const wire::SnapshotMeta& held) {
  const std::int64_t begin = real_.NowNs();
  Session& session = *session_;
  if ((session.reader && !session.shards) || !Pump(0) || session.grants.empty()) return;
  const std::uint64_t version = session.grants.front().version;
  const bool first_suits = session.Suits(session.shards ? session.first_meta : held, version);
  if (!session.reader && !first_suits && !session.fetched.MaySuit(version)) Ask(version);
  if (session.shards) session.shards->Prefetch(version);
  prefetch_us_ = UsSince(begin);
}

}  // namespace starling::actors
