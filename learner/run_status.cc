#include "learner/run_status.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace starling::learner {
namespace {

using Json = nlohmann::ordered_json;

// The one list of fields, in the order of the line; both directions visit it.
template <class Status, class Visitor>
void VisitFields(Status& status, Visitor visit) {
  visit("phase", status.phase);
  visit("term", status.term);
  visit("steps", status.steps);
  visit("frames", status.frames);
  visit("updates", status.updates);
  visit("seconds", status.seconds);
  visit("steps_per_second", status.steps_per_second);
  visit("mean_return", status.mean_return);
  visit("mean_length", status.mean_length);
  visit("episodes", status.episodes);
  visit("episodes_cut", status.episodes_cut);
  visit("envs_replaced", status.envs_replaced);
  visit("lr", status.lr);
  visit("entropy_coef", status.entropy_coef);
  visit.Section("losses", [&](auto section) {
    section("policy", status.losses.policy);
    section("value", status.losses.value);
    section("entropy", status.losses.entropy);
    section("grad_norm", status.losses.grad_norm);
  });
  visit.Section("gradients", [&](auto section) {
    section("received", status.gradients.received);
    section("applied", status.gradients.applied);
    section("merged", status.gradients.merged);
    section("in_flight", status.gradients.in_flight);
    section("dropped", status.gradients.dropped);
  });
  visit("frames_refused", status.frames_refused);
  visit("deadlines", status.deadlines);
  visit("breaks", status.breaks);
  visit.Section("staleness", [&](auto section) {
    section("max", status.staleness.max);
    section("mean", status.staleness.mean);
    section.Bound("bound", status.staleness.bound);
    section("histogram", status.staleness.histogram);
  });
  visit.Section("reuse", status.reuse, [](auto section, auto& reuse) {
    section("kl", reuse.kl);
    section("clipped", reuse.clipped);
    section("age_max", reuse.age_max);
    section("age_mean", reuse.age_mean);
    section("age_histogram", reuse.age_histogram);
  });
  visit("actors_alive", status.actors_alive);
  const auto activities = [](auto section, auto& of) {
    section("wait", of.wait);
    section("refresh", of.refresh);
    section("act", of.act);
    section("act_wait", of.act_wait);
    section("gradient", of.gradient);
    section("push", of.push);
  };
  visit.Section("actor_us", status.actor_us, activities);
  visit.Section("time", [&](auto time) {
    time.Section("actors", [&](auto section) { activities(section, status.time.actors); });
    time.Section("learner", [&](auto section) {
      section("receive", status.time.learner.receive);
      section("dispatch", status.time.learner.dispatch);
      section("idle", status.time.learner.idle);
      section("lanes", status.time.learner.lanes);
    });
  });
  visit("version", status.version);
  visit("checkpoint", status.checkpoint);
  visit.Section("saving", status.saving, [](auto section, auto& saving) {
    section("written", saving.written);
    section("size", saving.size);
    section("waited", saving.waited);
  });
  visit.Actors("joined", status.joined);
  visit("final", status.final);
}

class Writer {
 public:
  explicit Writer(Json& object) : object_(object) {}

  template <class T>
  void operator()(const char* key, const T& value) {
    object_[key] = value;
  }
  void operator()(const char* key, double value) {
    object_[key] = std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  void operator()(const char* key, const std::optional<double>& value) {
    (*this)(key, value.value_or(NAN));
  }
  void Bound(const char* key, std::uint64_t bound) {
    object_[key] = bound == kUnbounded ? Json("unbounded") : Json(bound);
  }
  template <class Fields>
  void Section(const char* key, Fields fields) {
    fields(Writer(object_[key]));
  }
  template <class T, class Fields>
  void Section(const char* key, const std::optional<T>& values, Fields fields) {
    if (values) fields(Writer(object_[key]), *values);
  }
  void Actors(const char* key, const std::vector<ActorStatus>& actors) {
    Json& rows = object_[key] = Json::array();
    for (const ActorStatus& actor : actors) {
      rows.push_back({actor.slot, actor.incarnation, actor.accepted, actor.steps, actor.version,
                      actor.staleness, actor.wait_us / 1000});
    }
  }

 private:
  Json& object_;
};

// Throws Json::exception if a value has the wrong type.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  template <class T>
  void operator()(const char* key, T& value) {
    if (const Json* found = Find(key)) found->get_to(value);
  }
  void operator()(const char* key, std::optional<double>& value) {
    if (const Json* found = Find(key)) value = found->get<double>();
  }
  void Bound(const char* key, std::uint64_t& bound) {
    const Json* found = Find(key);
    if (found && !found->is_string()) found->get_to(bound);
  }
  template <class Fields>
  void Section(const char* key, Fields fields) {
    const Json* found = Find(key);
    if (found && found->is_object()) fields(Reader(*found));
  }
  template <class T, class Fields>
  void Section(const char* key, std::optional<T>& values, Fields fields) {
    const Json* found = Find(key);
    if (found && found->is_object()) fields(Reader(*found), values.emplace());
  }
  void Actors(const char* key, std::vector<ActorStatus>& actors) {
    const Json* found = Find(key);
    if (!found) return;
    for (const Json& row : *found) {
      const auto number = [&](std::size_t i) { return row.at(i).get<std::uint64_t>(); };
      actors.push_back({.slot = row.at(0).get<std::int64_t>(),
                        .incarnation = number(1),
                        .accepted = number(2),
                        .steps = number(3),
                        .version = number(4),
                        .staleness = number(5),
                        .wait_us = 1000 * number(6)});
    }
  }

 private:
  const Json* Find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  const Json& object_;
};

}  // namespace

std::uint64_t GradientStatus::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

UnrollStatus& UnrollStatus::operator+=(const UnrollStatus& other) {
  wait += other.wait;
  refresh += other.refresh;
  act += other.act;
  act_wait += other.act_wait;
  gradient += other.gradient;
  push += other.push;
  return *this;
}

Json ToJson(const RunStatus& status) {
  Json line;
  VisitFields(status, Writer(line));
  return line;
}

Json MetricsLine(const RunStatus& status) {
  Json line = ToJson(status);
  line["staleness"].erase("histogram");
  if (line.contains("reuse")) line["reuse"].erase("age_histogram");
  line.erase("joined");
  line.erase("saving");
  line.erase("final");
  return line;
}

std::optional<RunStatus> ParseStatus(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  try {
    RunStatus status;
    VisitFields(status, Reader(json));
    return status;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace starling::learner
