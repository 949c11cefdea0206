#include "tests/network/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"

namespace starling {
namespace {

using nlohmann::json;

class JournalCheck {
 public:
  JournalCheck(std::uint64_t bound, RunFacts& facts) : bound_(bound), facts_(facts) {}

  void operator()(const learner::TermRecord& record) {
    if (record.term <= term_) Broken("term {} after term {}", record.term, term_);
    term_ = record.term;
    version_ = record.version;
    steps_ = record.steps;
    arrived_.clear();  // held gradients are not applied in another term
  }
  void operator()(const learner::JoinRecord&) { ++facts_.joins; }
  void operator()(const learner::DeathRecord&) { ++facts_.deaths; }
  void operator()(const learner::LostRecord&) { ++facts_.lost_grants; }
  void operator()(const learner::ArrivalRecord& record) {
    if (record.outcome != 0) return;
    const Name name{record.slot, record.incarnation, record.sequence};
    if (!arrived_.emplace(name, std::pair(record.base_version, record.samples)).second ||
        applied_.contains({term_, name})) {
      Broken("gradient {} of actor {} was taken twice", record.sequence, record.slot);
    }
    if (record.base_version > version_) Broken("a base {} of the future", record.base_version);
  }
  void operator()(const learner::UpdateRecord& record) {
    ++facts_.updates;
    if (record.version != version_ + 1) Broken("version {} after {}", record.version, version_);
    version_ = record.version;
    for (const auto& item : record.items) Apply({item.slot, item.incarnation, item.sequence});
    if (record.steps != steps_) Broken("{} steps, not {}", record.steps, steps_);
    if (!std::isfinite(record.lr) || !std::isfinite(record.scale)) Broken("a step of no length");
  }
  void operator()(const auto&) {}

 private:
  using Name = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

  void Apply(const Name& name) {
    const auto& [slot, incarnation, sequence] = name;
    const auto found = arrived_.find(name);
    if (found == arrived_.end()) {
      return Broken("gradient {} of actor {} is applied, not held", sequence, slot);
    }
    const auto [base, samples] = found->second;
    arrived_.erase(found);
    if (!applied_.emplace(term_, name).second) {
      Broken("gradient {} of actor {} was applied twice", sequence, slot);
    }
    ++facts_.applied;
    steps_ += samples;
    const std::uint64_t staleness = version_ - 1 - base;
    facts_.max_staleness = std::max(facts_.max_staleness, staleness);
    if (staleness > bound_) Broken("a staleness of {}, bound {}", staleness, bound_);
  }
  template <class... Values>
  void Broken(fmt::format_string<Values...> text, Values&&... values) {
    facts_.broken.push_back("journal: " + fmt::format(text, std::forward<Values>(values)...));
  }

  const std::uint64_t bound_;
  RunFacts& facts_;
  std::uint32_t term_ = 0;
  std::uint64_t version_ = 0, steps_ = 0;
  std::map<Name, std::pair<std::uint64_t, std::uint32_t>> arrived_;
  std::set<std::pair<std::uint32_t, Name>> applied_;
};

void CheckCounts(const json& gradients, const std::string& where, RunFacts& facts) {
  std::uint64_t sum =
      gradients.at("applied").get<std::uint64_t>() + gradients.at("in_flight").get<std::uint64_t>();
  for (const json& dropped : gradients.at("dropped")) sum += dropped.get<std::uint64_t>();
  if (gradients.at("received") != sum) {
    facts.broken.push_back(where +
                           ": received is not applied + dropped + in flight: " + gradients.dump());
  }
}

void CheckMetrics(const std::filesystem::path& path, RunFacts& facts) {
  std::ifstream file(path);
  std::pair<std::uint64_t, std::uint64_t> last{0, 0};
  std::uint64_t last_steps = 0;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string where = fmt::format("metrics.jsonl:{}", ++number);
    const json metrics = json::parse(line);
    // Within a term the steps never decrease; a new term may start from an older version.
    CheckCounts(metrics.at("gradients"), where, facts);
    const std::pair now{metrics.at("term").get<std::uint64_t>(),
                        metrics.at("updates").get<std::uint64_t>()};
    const auto steps = metrics.at("steps").get<std::uint64_t>();
    if (now < last || (now.first == last.first && steps < last_steps)) {
      facts.broken.push_back(where + ": (term, version) goes back");
    }
    last = now;
    last_steps = steps;
    facts.frames_refused = metrics.at("frames_refused");
  }
  if (number == 0) facts.broken.emplace_back("no line in metrics.jsonl");
}

void CheckWeights(const std::filesystem::path& path, RunFacts& facts) {
  const learner::Checkpoint checkpoint = learner::ReadCheckpoint(path);
  facts.weights = checkpoint.weights.size();
  const auto finite = [](float value) { return std::isfinite(value); };
  if (!std::ranges::all_of(checkpoint.weights, finite)) {
    facts.broken.emplace_back("the weights are not finite");
  }
  if (checkpoint.version != facts.updates) {
    facts.broken.push_back(fmt::format("the last checkpoint is of version {}, updates were {}",
                                       checkpoint.version, facts.updates));
  }
}

void CheckAll(const std::filesystem::path& run_dir, RunFacts& facts) {
  const json summary = json::parse(std::ifstream(run_dir / "summary.json"));
  // 1. The journal, record by record, against the bound.
  const json& bound = summary.at("staleness").at("bound");
  JournalCheck check(
      bound.is_number() ? bound.get<std::uint64_t>() : std::numeric_limits<std::uint64_t>::max(),
      facts);
  learner::JournalReader journal(run_dir / "journal");
  while (const auto record = journal.Next()) std::visit(check, *record);
  if (journal.ending() != learner::JournalEnding::kEnd) {
    facts.broken.emplace_back("journal: it does not end with a whole record");
  }
  // 2. The counts of metrics and summary, among themselves and against the journal.
  CheckMetrics(run_dir / "metrics.jsonl", facts);
  CheckCounts(summary.at("gradients"), "summary.json", facts);
  for (const auto& [what, counted] :
       {std::pair("applied", facts.applied), std::pair("updates", facts.updates)}) {
    const json& told =
        std::string(what) == "updates" ? summary.at(what) : summary.at("gradients").at(what);
    if (told != counted) {
      facts.broken.push_back(
          fmt::format("{}: {} in the summary, {} in the journal", what, told.dump(), counted));
    }
  }
  CheckWeights(run_dir / summary.at("final_checkpoint").get<std::string>(), facts);
}

}  // namespace

RunFacts CheckRun(const std::filesystem::path& run_dir) {
  RunFacts facts;
  try {
    CheckAll(run_dir, facts);
  } catch (const std::exception& error) {
    facts.broken.emplace_back(error.what());
  }
  return facts;
}

}  // namespace starling
