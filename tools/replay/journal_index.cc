#include <fmt/format.h>

#include <system_error>
#include <tuple>

#include "core/error.h"
#include "core/text.h"
#include "results/summary.h"
#include "tools/replay/replayer.h"
#include "wire/protocol.h"

namespace starling::replay {
namespace {

using learner::ArrivalRecord;
using learner::JournalReader;
using learner::TermRecord;
using learner::UpdateRecord;

JournalReader Open(const std::filesystem::path& path) {
  try {
    return JournalReader(path);
  } catch (const std::system_error& error) {
    throw UserError(fmt::format("{} cannot be read ({}): a run is replayed from its journal",
                                path.string(), error.code().message()));
  } catch (const learner::JournalUnreadable& error) {
    throw UserError(error.what());
  }
}

std::string WhyItEnds(JournalReader::Ending ending, std::uint64_t version) {
  switch (ending) {
    case JournalReader::Ending::kTorn:
      return fmt::format(
          "the journal breaks off after version {}: its learner was killed, or still runs",
          version);
    case JournalReader::Ending::kDamaged:
      return fmt::format("the journal is damaged after version {}", version);
    default:
      return "";
  }
}

using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

Key KeyOf(const UpdateRecord::Item& item) { return {item.slot, item.incarnation, item.sequence}; }
Key KeyOf(const ArrivalRecord& arrival) {
  return {arrival.slot, arrival.incarnation, arrival.sequence};
}

}  // namespace

JournalIndex ReadJournalIndex(const std::filesystem::path& run_dir) {
  const std::filesystem::path path = run_dir / "journal";
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) {
    throw UserError(path.string() + " is no file: a run is replayed from its journal");
  }
  JournalReader reader = Open(path);
  // 1. Read all records and index them by version.
  JournalIndex index;
  index.header = reader.header();
  while (auto record = reader.Next()) {
    if (const auto* arrival = std::get_if<ArrivalRecord>(&*record)) {
      ++index.computed_on[arrival->base_version];
    }
    if (const auto* hash = std::get_if<learner::HashRecord>(&*record)) {
      index.hashes[hash->version] = hash->hash;
    }
    if (const auto* update = std::get_if<UpdateRecord>(&*record)) index.last = update->version;
    index.records.push_back(*std::move(record));
  }
  index.torn = WhyItEnds(reader.ending(), index.last);
  index.damaged = reader.ending() == JournalReader::Ending::kDamaged;
  // 2. Check both ends.
  const auto* begin =
      index.records.empty() ? nullptr : std::get_if<TermRecord>(&index.records.front());
  if (begin == nullptr || begin->version != 0) {
    throw UserError(
        fmt::format("{} does not begin with the run: it was lost or damaged, so nothing "
                    "can be replayed",
                    path.string()));
  }
  return index;
}

UpdateDetails FindUpdate(const JournalIndex& index, std::uint64_t version) {
  // Arrivals stay in `held` until their update, so the update's own are there when it is found.
  std::map<Key, ArrivalRecord> held;
  for (const learner::JournalRecord& record : index.records) {
    if (const auto* arrival = std::get_if<ArrivalRecord>(&record)) held[KeyOf(*arrival)] = *arrival;
    const auto* update = std::get_if<UpdateRecord>(&record);
    if (update == nullptr) continue;
    if (update->version != version) {
      for (const UpdateRecord::Item& item : update->items) held.erase(KeyOf(item));
      continue;
    }
    UpdateDetails found{.update = *update, .gradients = {}};
    double samples = 0;
    for (const UpdateRecord::Item& item : update->items) {
      const ArrivalRecord& arrival = held[KeyOf(item)];
      found.gradients.push_back({.from = item,
                                 .base = arrival.base_version,
                                 .staleness = version - 1 - arrival.base_version,
                                 .samples = arrival.samples,
                                 .norm = arrival.norm});
      samples += arrival.samples;
    }
    for (auto& gradient : found.gradients) gradient.weight = gradient.samples / samples;
    return found;
  }
  throw UserError(fmt::format("the journal holds no version {}: it has those from 1 to {}", version,
                              index.last));
}

std::string ToText(const UpdateDetails& details) {
  const UpdateRecord& update = details.update;
  std::string text = fmt::format(
      "version {}: {} gradient{}, {} steps after it, learning rate {:.6g}, step scaled by {:.4g}, "
      "entropy {:.6g}\n",
      update.version, details.gradients.size(), details.gradients.size() == 1 ? "" : "s",
      Grouped(update.steps), update.lr, update.scale, update.entropy);
  text += fmt::format("{:>6} {:>6} {:>12} {:>12} {:>10} {:>9} {:>8} {:>12}\n", "actor", "life",
                      "sequence", "computed on", "staleness", "samples", "weight", "norm");
  for (const UpdateDetails::Gradient& gradient : details.gradients) {
    const std::uint32_t incarnation = gradient.from.incarnation;
    text += fmt::format("{:>6} {:>6} {:>12} {:>12} {:>10} {:>9} {:>8.4f} {:>12.6g}\n",
                        gradient.from.slot,
                        fmt::format("{}.{}", wire::TermOf(incarnation), wire::LifeOf(incarnation)),
                        gradient.from.sequence, gradient.base, gradient.staleness, gradient.samples,
                        gradient.weight, gradient.norm);
  }
  return text;
}

}  // namespace starling::replay
