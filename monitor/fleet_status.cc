#include "monitor/fleet_status.h"

#include <nlohmann/json.hpp>

namespace starling::monitor {

std::string ToText(const FleetStatus& fleet) {
  nlohmann::ordered_json object = {{"learner_alive", fleet.learner_alive},
                                   {"learner_silent", fleet.learner_silent},
                                   {"over", fleet.over}};
  if (fleet.redo) object["redo"] = {fleet.redo->done, fleet.redo->updates};
  auto& actors = object["actors"] = nlohmann::ordered_json::array();
  for (const ActorProcess& actor : fleet.actors) {
    actors.push_back({actor.alive, actor.accepted, actor.restarts});
  }
  return object.dump() + "\n";
}

std::optional<FleetStatus> ParseFleetStatus(std::string_view text) try {
  const auto object = nlohmann::json::parse(text);
  FleetStatus fleet{.learner_alive = object.at("learner_alive"),
                    .learner_silent = object.at("learner_silent"),
                    .over = object.at("over")};
  if (object.contains("redo")) fleet.redo = {object["redo"].at(0), object["redo"].at(1)};
  for (const auto& actor : object.at("actors")) {
    fleet.actors.push_back({actor.at(0), actor.at(1), actor.at(2)});
  }
  return fleet;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

}  // namespace starling::monitor
