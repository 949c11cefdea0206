// The rules between the keys of [updates] and [staleness]: how many gradients an update has, and
// how old they are.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/config/contradictions.h"

namespace starling {
namespace {

void CheckCounts(const Config& config, Contradictions& found) {
  const ActorsConfig& actors = config.actors;
  const UpdatesConfig& updates = config.updates;
  if (config.staleness.bound == 0 && updates.in_flight != 1) {
    Add(found, {"updates.in_flight", "staleness.bound"},
        "updates.in_flight = {} contradicts staleness.bound = 0, under which an actor holds "
        "exactly 1 grant",
        updates.in_flight);
  }
  if (updates.start_with > actors.count) {
    Add(found, {"updates.start_with", "actors.count"},
        "updates.start_with = {} contradicts actors.count = {}: so many will never join",
        updates.start_with, actors.count);
  }
  // Each actor has at most in_flight gradients waiting, so K above their sum is never reached.
  const std::int64_t max_held = actors.count * updates.in_flight;
  if (updates.gradients > max_held) {
    Add(found, {"updates.gradients", "actors.count", "updates.in_flight"},
        "updates.gradients = {} contradicts actors.count = {} with updates.in_flight = {}: at "
        "most {} gradients can be held",
        updates.gradients, actors.count, updates.in_flight, max_held);
  }
}

// A delay gives every gradient the same staleness.
void CheckDelay(const Config& config, Contradictions& found) {
  const StalenessConfig& staleness = config.staleness;
  if (!staleness.delayed()) return;
  const auto refuse = [&](bool wrong, const std::string& key, const std::string& value,
                          const std::string& why) {
    if (!wrong) return;
    Add(found, {"staleness.delay", key}, "staleness.delay = {} contradicts {} = {}: {}",
        staleness.delay, key, value, why);
  };
  refuse(staleness.bound < staleness.delay, "staleness.bound", fmt::format("{}", staleness.bound),
         "each gradient would be over the bound");
  refuse(staleness.on_exceed == OnExceed::kDrop, "staleness.on_exceed", "\"drop\"",
         "no gradient is ever late, so use \"wait\"");
  const UpdatesConfig& updates = config.updates;
  const std::uint64_t needed = staleness.under_way(updates.gradients);
  const std::int64_t most = config.actors.count * updates.in_flight;
  refuse(std::cmp_less(most, needed), "actors.count", fmt::format("{}", config.actors.count),
         fmt::format("{} gradients must be under way at a time, and with updates.in_flight = {} "
                     "at most {} are",
                     needed, updates.in_flight, most));
  constexpr const char* kReuse = "an unroll that is used again gives gradients of several versions";
  refuse(config.loss.kind == LossKind::kPpo, "loss.kind", "\"ppo\"", kReuse);
  refuse(updates.epochs > 1, "updates.epochs", fmt::format("{}", updates.epochs), kReuse);
  refuse(updates.minibatches > 1, "updates.minibatches", fmt::format("{}", updates.minibatches),
         kReuse);
  refuse(config.net.external(), "net.kind", "\"external\"",
         "your own programs take the newest weights");
  refuse(config.learner.apply == ApplyMode::kHogwild, "learner.apply", "\"hogwild\"",
         "which versions there are is chance; use \"lanes\"");
  refuse(config.learner.shards > 1, "learner.shards", fmt::format("{}", config.learner.shards),
         "shards keep the newest weights only");
}

// A correction needs the weights that each gradient was computed on.
void CheckCorrection(const Config& config, Contradictions& found) {
  const StalenessConfig& staleness = config.staleness;
  if (staleness.correction == Correction::kNone) return;
  const std::string correction =
      fmt::format("staleness.correction = \"{}\"", NameOf(staleness.correction));
  if (staleness.bound == kUnbounded && !staleness.delayed()) {
    Add(found, {"staleness.correction", "staleness.bound"},
        "{} contradicts staleness.bound = \"unbounded\": the learner keeps the weights of every "
        "version that a gradient may have been computed on, so set a bound",
        correction);
  }
  if (config.learner.apply == ApplyMode::kHogwild) {
    Add(found, {"staleness.correction", "learner.apply"},
        "{} contradicts learner.apply = \"hogwild\", which keeps no versions; use \"lanes\"",
        correction);
  }
}

// Without a learner there is one update at a time, of all ranks.
void CheckExchange(const Config& config, Contradictions& found) {
  if (config.updates.exchange == Exchange::kLearner) return;
  const auto refuse = [&](bool wrong, const std::string& key, const std::string& value,
                          const char* why) {
    if (!wrong) return;
    Add(found, {key, "updates.exchange"},
        "{} = {} contradicts updates.exchange = \"allreduce\": {}", key, value, why);
  };
  const std::uint64_t bound = config.staleness.bound;
  refuse(bound != 0, "staleness.bound",
         bound == kUnbounded ? "\"unbounded\"" : fmt::format("{}", bound),
         "all ranks apply each update together, so set it to 0");
  refuse(config.staleness.on_exceed == OnExceed::kDrop, "staleness.on_exceed", "\"drop\"",
         "no gradient is ever late, so use \"wait\"");
  refuse(config.staleness.delayed(), "staleness.delay", fmt::format("{}", config.staleness.delay),
         "all ranks compute on the newest weights");
  refuse(config.staleness.correction != Correction::kNone, "staleness.correction",
         fmt::format("\"{}\"", NameOf(config.staleness.correction)), "no gradient is ever stale");
  refuse(config.updates.start_with != config.actors.count, "updates.start_with",
         fmt::format("{}", config.updates.start_with), "all ranks begin together");
  refuse(config.learner.shards > 1, "learner.shards", fmt::format("{}", config.learner.shards),
         "there is no learner to divide; every rank adds up its slice");
  refuse(config.learner.apply == ApplyMode::kHogwild, "learner.apply", "\"hogwild\"",
         "all ranks apply the same updates to the same bits, so use \"lanes\"");
  refuse(config.wire.endpoint != "auto", "wire.endpoint",
         fmt::format("\"{}\"", config.wire.endpoint), "ranks talk through MPI");
}

}  // namespace

void CheckUpdates(const Config& config, Contradictions& found) {
  CheckCounts(config, found);
  CheckDelay(config, found);
  CheckCorrection(config, found);
  CheckExchange(config, found);
}

}  // namespace starling
