#include <cmath>
#include <nlohmann/json.hpp>

#include "learner/run_status.h"

namespace starling::learner {
namespace {

using Json = nlohmann::ordered_json;

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string TextIn(const Json& row, const char* key) {
  return row.at(key).is_null() ? "" : row.at(key).get<std::string>();
}

Json RowOf(const ActorStatus& actor) {
  if (!actor.alive) {
    return {{"slot", actor.slot}, {"alive", false}, {"left", TextOrNull(actor.left)}};
  }
  return {{"slot", actor.slot},
          {"alive", true},
          {"incarnation", actor.incarnation},
          {"host", actor.host},
          {"pid", actor.pid},
          {"key", TextOrNull(actor.key)},
          {"version", actor.version},
          {"lag", actor.staleness},
          {"gradients", actor.accepted},
          {"steps", actor.steps},
          {"wait_seconds", static_cast<double>(actor.wait_us) / 1e6},
          {"silent_seconds", actor.silent_s}};
}

ActorStatus ActorIn(const Json& row) {
  ActorStatus actor{.slot = row.at("slot").get<std::uint32_t>(), .alive = row.at("alive")};
  if (!actor.alive) {
    actor.left = TextIn(row, "left");
    return actor;
  }
  row.at("incarnation").get_to(actor.incarnation);
  row.at("host").get_to(actor.host);
  row.at("pid").get_to(actor.pid);
  actor.key = TextIn(row, "key");
  row.at("version").get_to(actor.version);
  row.at("lag").get_to(actor.staleness);
  row.at("gradients").get_to(actor.accepted);
  row.at("steps").get_to(actor.steps);
  actor.wait_us = static_cast<std::uint64_t>(
      std::llround(std::max(0.0, row.at("wait_seconds").get<double>()) * 1e6));
  row.at("silent_seconds").get_to(actor.silent_s);
  return actor;
}

}  // namespace

Json ToJson(const PublishedStatus& published) {
  Json object = {{"at_ms", published.at_ms}, {"unix_seconds", published.unix_s}};
  object.update(ToJson(published.status));
  object.erase("joined");  // `actors` says more
  object.erase("final");
  Json& actors = object["actors"] = Json::array();
  for (const ActorStatus& actor : published.actors) actors.push_back(RowOf(actor));
  object["actors_not_listed"] = published.not_listed;
  return object;
}

std::optional<PublishedStatus> ParsePublished(std::string_view text) {
  std::optional<RunStatus> status = ParseStatus(text);
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!status) return std::nullopt;
  try {
    PublishedStatus published{.at_ms = object.at("at_ms"),
                              .unix_s = object.at("unix_seconds"),
                              .status = *std::move(status),
                              .not_listed = object.at("actors_not_listed")};
    for (const Json& row : object.at("actors")) {
      const ActorStatus& actor = published.actors.emplace_back(ActorIn(row));
      if (actor.alive) published.status.joined.push_back(actor);
    }
    return published;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace starling::learner
