#include "tools/replay/run_journal.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "wire/protocol.h"

namespace starling::replay {
namespace {

using learner::ArrivalRecord;
using learner::GapRecord;
using learner::JournalEnding;
using learner::JournalReader;
using learner::JournalRecord;
using learner::TermRecord;
using learner::UpdateRecord;
using learner::UseRecord;

JournalReader Open(const std::filesystem::path& run_dir, learner::JournalPosition from = {}) {
  const std::filesystem::path path = run_dir / "journal";
  try {
    return JournalReader(path, from);
  } catch (const std::system_error& error) {
    throw UserError(fmt::format("{} cannot be read ({}): a run is replayed from its journal",
                                path.string(), error.code().message()));
  } catch (const learner::JournalUnreadable& error) {
    throw UserError(error.what());
  }
}

std::string WhyItEnds(const JournalReader& reader, std::uint64_t version) {
  switch (reader.ending()) {
    case JournalEnding::kTorn:
      return fmt::format(
          "the journal breaks off after version {}: its learner was killed, or still runs",
          version);
    case JournalEnding::kDamaged:
      return fmt::format("the journal is damaged after version {}: {}, byte {}", version,
                         reader.path().string(), reader.position().offset);
    default:
      return "";
  }
}

}  // namespace

JournalSummary ScanJournal(const std::filesystem::path& run_dir) {
  JournalReader reader = Open(run_dir);
  // 1. The run's own first record comes first, or a segment that follows another one.
  auto record = reader.Next();
  if (record && std::holds_alternative<GapRecord>(*record)) record = reader.Next();
  const auto* begin = record ? std::get_if<TermRecord>(&*record) : nullptr;
  // A learner that finds its journal lost begins another one with a later version.
  const bool pruned = reader.header().after.offset > 0 || (begin != nullptr && begin->version > 0);
  if (!pruned && begin == nullptr) {
    throw UserError(
        fmt::format("{} does not begin with the run: it was lost or damaged, so nothing "
                    "can be replayed",
                    (run_dir / "journal").string()));
  }
  // 2. The rest.
  JournalSummary summary{.header = reader.header(), .pruned = pruned, .torn = {}};
  bool gap = false;  // at the end; a replay meets the others
  for (; record; record = reader.Next()) {
    gap = std::holds_alternative<GapRecord>(*record);
    const auto* update = std::get_if<UpdateRecord>(&*record);
    if (update == nullptr) continue;
    if (summary.first == 0) summary.first = update->version;
    summary.last = update->version;
  }
  summary.torn = WhyItEnds(reader, summary.last);
  summary.damaged = gap || reader.ending() == JournalEnding::kDamaged;
  if (gap) {
    summary.torn =
        fmt::format("the journal ends after version {}: a write failed there", summary.last);
  }
  return summary;
}

// ---- updates

Updates::Updates(const std::filesystem::path& run_dir) : reader_(Open(run_dir)) {}

std::optional<UpdateDetails> Updates::Next() {
  while (const auto record = reader_.Next()) {
    // 1. Arrivals wait for their update; a restarted learner has none.
    if (std::holds_alternative<TermRecord>(*record)) held_.clear();
    const auto* arrival = std::get_if<ArrivalRecord>(&*record);
    if (arrival && arrival->outcome == static_cast<std::uint8_t>(wire::Outcome::kNone)) {
      held_[{arrival->slot, arrival->incarnation, arrival->sequence}] = *arrival;
    }
    const auto* update = std::get_if<UpdateRecord>(&*record);
    if (update == nullptr) continue;
    // 2. The update takes its own.
    UpdateDetails details{.update = *update, .gradients = {}};
    double samples = 0;
    for (const UpdateRecord::Item& item : update->items) {
      const auto held = held_.extract({item.slot, item.incarnation, item.sequence});
      const ArrivalRecord from = held ? held.mapped() : ArrivalRecord{};
      details.gradients.push_back({.from = item,
                                   .base = from.base_version,
                                   .staleness = update->version - 1 - from.base_version,
                                   .samples = from.samples,
                                   .norm = from.norm});
      samples += from.samples;
    }
    for (auto& gradient : details.gradients) gradient.weight = gradient.samples / samples;
    return details;
  }
  return std::nullopt;
}

UpdateDetails FindUpdate(const std::filesystem::path& run_dir, std::uint64_t version) {
  Updates updates(run_dir);
  while (auto details = updates.Next()) {
    if (details->update.version == version) return *std::move(details);
  }
  const JournalSummary summary = ScanJournal(run_dir);
  throw UserError(fmt::format(
      "the journal holds no version {}: {}{}{}", version,
      summary.last > 0 ? fmt::format("it has those from {} to {}", summary.first, summary.last)
                       : "it has no updates",
      summary.torn.empty() ? "" : "; ", summary.torn));
}

std::string ToText(const UpdateDetails& details) {
  const UpdateRecord& update = details.update;
  std::string text = fmt::format(
      "version {}: {} gradient{}, {} steps after it, learning rate {:.6g}, step scaled by {:.4g}, "
      "entropy coefficient {:.6g}\n",
      update.version, details.gradients.size(), details.gradients.size() == 1 ? "" : "s",
      Grouped(update.steps), update.lr, update.scale, update.entropy);
  text += fmt::format("{:>6} {:>6} {:>12} {:>12} {:>10} {:>9} {:>8} {:>12}\n", "actor", "life",
                      "sequence", "computed on", "staleness", "samples", "weight", "norm");
  for (const UpdateDetails::Gradient& gradient : details.gradients) {
    const std::uint32_t incarnation = gradient.from.incarnation;
    // The journal of a branch knows no norms.
    const std::string norm = gradient.norm == 0 ? "–" : fmt::format("{:.6g}", gradient.norm);
    text +=
        fmt::format("{:>6} {:>6} {:>12} {:>12} {:>10} {:>9} {:>8.4f} {:>12}\n", gradient.from.slot,
                    fmt::format("{}.{}", wire::TermOf(incarnation), wire::LifeOf(incarnation)),
                    gradient.from.sequence, gradient.base, gradient.staleness, gradient.samples,
                    gradient.weight, norm);
  }
  return text;
}

// ---- looking ahead

JournalAhead::JournalAhead(const std::filesystem::path& run_dir, learner::JournalPosition from)
    : reader_(Open(run_dir, from)) {}

std::optional<JournalRecord> JournalAhead::Next() {
  if (ahead_.empty() && !Read()) return std::nullopt;
  JournalRecord record = std::move(ahead_.front());
  ahead_.pop_front();
  if (const auto* arrival = std::get_if<ArrivalRecord>(&record)) Used(arrival->base_version);
  if (const auto* use = std::get_if<UseRecord>(&record); use && use->use == 0) Used(use->played);
  if (const auto* hash = std::get_if<learner::HashRecord>(&record)) hashes_.erase(hash->version);
  return record;
}

void JournalAhead::Used(std::uint64_t version) {
  const auto uses = uses_.find(version);
  if (--uses->second == 0) uses_.erase(uses);
}

std::uint64_t JournalAhead::UsesOf(std::uint64_t version) {
  ReadPast(version);
  const auto uses = uses_.find(version);
  return uses == uses_.end() ? 0 : uses->second;
}

std::optional<std::uint64_t> JournalAhead::HashOf(std::uint64_t version) {
  ReadPast(version);
  const auto hash = hashes_.find(version);
  return hash == hashes_.end() ? std::nullopt : std::optional(hash->second);
}

// Reads until no later record can name `version`.
void JournalAhead::ReadPast(std::uint64_t version) {
  const auto over = [&] {
    return granted_ > version && (open_.empty() || *open_.begin() > version);
  };
  while (!over() && Read()) continue;
}

// Reads one record. Returns false at the end.
bool JournalAhead::Read() {
  auto record = reader_.Next();
  if (!record) return false;
  if (std::holds_alternative<TermRecord>(*record)) {
    grants_.clear(), open_.clear();  // all actors join again
    granted_ = 0;
  } else if (const auto* join = std::get_if<learner::JoinRecord>(&*record)) {
    Forget(join->slot, UINT64_MAX);
  } else if (const auto* death = std::get_if<learner::DeathRecord>(&*record)) {
    Forget(death->slot, UINT64_MAX);
  } else if (const auto* grant = std::get_if<learner::GrantRecord>(&*record)) {
    grants_[grant->slot][grant->number] = grant->version;
    open_.insert(grant->version);
    granted_ = std::max(granted_, grant->version);
  } else if (const auto* arrival = std::get_if<ArrivalRecord>(&*record)) {
    // An actor uses its grants in order, also those whose deadline has passed.
    if (grants_[arrival->slot].contains(arrival->grant)) Forget(arrival->slot, arrival->grant);
    ++uses_[arrival->base_version];
  } else if (const auto* use = std::get_if<UseRecord>(&*record)) {
    if (use->use == 0) ++uses_[use->played];
  } else if (const auto* hash = std::get_if<learner::HashRecord>(&*record)) {
    hashes_[hash->version] = hash->hash;
  }
  ahead_.push_back(*std::move(record));
  return true;
}

// No gradient follows under the grants of `slot` up to number `up_to`.
void JournalAhead::Forget(std::uint32_t slot, std::uint64_t up_to) {
  auto& grants = grants_[slot];
  for (auto grant = grants.begin(); grant != grants.end() && grant->first <= up_to;) {
    open_.erase(open_.find(grant->second));
    grant = grants.erase(grant);
  }
}

}  // namespace starling::replay
