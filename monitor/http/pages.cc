#include "monitor/http/pages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace starling::monitor {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Health HealthOf(const learner::PublishedStatus* published, std::int64_t now_ms) {
  if (!published) return {false, "starting: the learner does not listen to actors yet"};
  if (published->status.phase == "done") {
    return {false, "done: the run is over, or was told to stop", /*done=*/true};
  }
  const std::int64_t silent_ms = now_ms - published->at_ms;
  if (silent_ms < kMaxSilentMs) return {true, "ok"};
  return {false, fmt::format("stuck: the learner's loop turned {:.1f} s ago for the last time",
                             static_cast<double>(silent_ms) / 1000)};
}

std::string StatusPage(const Config& config, const learner::PublishedStatus& published) {
  Json page = {{"unix_seconds", published.unix_s},
               {"run",
                {{"name", config.run.name},
                 {"env", config.env.name},
                 {"seed", config.run.seed},
                 {"steps", config.run.steps},
                 {"actors", config.actors.count}}}};
  page.update(learner::ToJson(published));
  page.erase("at_ms");  // means nothing to other machines
  // The names that actors give themselves need not be UTF-8.
  return page.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace starling::monitor
