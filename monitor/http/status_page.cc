#include "monitor/http/status_page.h"

#include <nlohmann/json.hpp>

namespace starling::monitor {
namespace {

using Json = nlohmann::ordered_json;

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json RowOf(const learner::ActorRow& actor) {
  if (!actor.alive) {
    return {{"slot", actor.slot}, {"alive", false}, {"left", TextOrNull(actor.left)}};
  }
  return {{"slot", actor.slot},
          {"alive", true},
          {"host", actor.host},
          {"pid", actor.pid},
          {"key", TextOrNull(actor.key)},
          {"version", actor.version},
          {"lag", actor.lag},
          {"gradients", actor.gradients},
          {"steps", actor.steps},
          {"wait_seconds", actor.wait_s},
          {"silent_seconds", actor.silent_s}};
}

}  // namespace

std::string StatusPage(const Config& config, const learner::Bulletin& bulletin) {
  Json page = {{"unix_seconds", bulletin.unix_s},
               {"run",
                {{"name", config.run.name},
                 {"env", config.env.name},
                 {"seed", config.run.seed},
                 {"steps", config.run.steps},
                 {"actors", config.actors.count}}}};
  page.update(bulletin.status);
  Json& actors = page["actors"] = Json::array();
  for (const learner::ActorRow& actor : bulletin.actors) actors.push_back(RowOf(actor));
  page["actors_not_listed"] = bulletin.not_listed;
  // What peers say of themselves need not be UTF-8.
  return page.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace starling::monitor
