#include "learner/status.h"

#include <nlohmann/json.hpp>
#include <numeric>

namespace starling::learner {
namespace {

using Json = nlohmann::json;

// Leaves `out` alone if the key is absent or null; throws Json::exception on another type.
template <class T>
void Take(const Json& object, const char* key, T& out) {
  const auto found = object.find(key);
  if (found != object.end() && !found->is_null()) found->get_to(out);
}

const Json& Section(const Json& object, const char* key) {
  static const Json kEmpty = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kEmpty;
}

LearnerStatus FromJson(const Json& json) {
  LearnerStatus status;
  Take(json, "phase", status.phase);
  Take(json, "term", status.term);
  Take(json, "steps", status.steps);
  Take(json, "frames", status.frames);
  Take(json, "updates", status.updates);
  Take(json, "version", status.version);
  Take(json, "seconds", status.seconds);
  Take(json, "steps_per_second", status.steps_per_second);
  if (const auto found = json.find("mean_return"); found != json.end() && !found->is_null()) {
    status.mean_return = found->get<double>();
  }
  Take(json, "episodes", status.episodes);
  Take(json, "envs_replaced", status.envs_replaced);
  Take(json, "episodes_cut", status.episodes_cut);

  const Json& staleness = Section(json, "staleness");
  Take(staleness, "max", status.staleness.max);
  Take(staleness, "mean", status.staleness.mean);
  Take(staleness, "histogram", status.staleness.histogram);

  const Json& gradients = Section(json, "gradients");
  Take(gradients, "received", status.gradients.received);
  Take(gradients, "applied", status.gradients.applied);
  Take(gradients, "merged", status.gradients.merged);
  Take(gradients, "in_flight", status.gradients.in_flight);
  Take(gradients, "dropped", status.gradients.dropped);

  const Json& actors = Section(Section(json, "time"), "actors");
  Take(actors, "wait", status.time.actors.wait);
  Take(actors, "refresh", status.time.actors.refresh);
  Take(actors, "act", status.time.actors.act);
  Take(actors, "gradient", status.time.actors.gradient);
  Take(actors, "push", status.time.actors.push);
  const Json& learner = Section(Section(json, "time"), "learner");
  Take(learner, "receive", status.time.learner.receive);
  Take(learner, "dispatch", status.time.learner.dispatch);
  Take(learner, "idle", status.time.learner.idle);
  Take(learner, "lanes", status.time.learner.lanes);

  Take(json, "actors_alive", status.actors_alive);
  Take(json, "checkpoint", status.checkpoint);
  if (const auto found = json.find("joined"); found != json.end() && !found->is_null()) {
    for (const Json& row : *found) {
      const auto number = [&](std::size_t i) { return row.at(i).get<std::uint64_t>(); };
      status.joined.push_back({.slot = row.at(0).get<int>(),
                               .incarnation = number(1),
                               .accepted = number(2),
                               .steps = number(3),
                               .version = number(4),
                               .staleness = number(5),
                               .wait_ms = number(6)});
    }
  }
  Take(json, "final", status.final);
  return status;
}

}  // namespace

std::uint64_t GradientStatus::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

std::optional<LearnerStatus> ParseStatus(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  try {
    return FromJson(json);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace starling::learner
