#include "results/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace starling::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSaturated = 0.8;  // a thread that is busy so long is what the others wait for

double Share(double part, double whole) {
  return whole > 0 ? std::round(part / whole * 1000) / 1000 : 0;
}

double Whole(double share) { return std::round(100 * share) / 100; }
std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace

Json TimeShares(const learner::TimeStatus& time) {
  const auto& [wait, refresh, act, gradient, push] = time.actors;
  const auto& [receive, dispatch, idle, lanes] = time.learner;
  const double actors = time.actors.total(), learner = time.learner.total();
  return {{"actors",
           {{"wait", Share(wait, actors)},
            {"refresh", Share(refresh, actors)},
            {"act", Share(act, actors)},
            {"gradient", Share(gradient, actors)},
            {"push", Share(push, actors)}}},
          {"learner",
           {{"receive", Share(receive, learner)},
            {"dispatch", Share(dispatch, learner)},
            {"idle", Share(idle, learner)},
            {"lanes", Share(lanes, learner)}}}};
}

std::string NameBottleneck(const Json& shares) {
  const auto actors = [&](const char* key) { return shares["actors"][key].get<double>(); };
  const auto learner = [&](const char* key) { return shares["learner"][key].get<double>(); };
  const double wait = actors("wait"), refresh = actors("refresh"), push = actors("push");
  // The sum of what is said of its parts.
  const double compute = Whole(actors("act")) + Whole(actors("gradient")), move = refresh + push;
  const double network = learner("receive") + learner("dispatch"), lanes = learner("lanes");
  if (wait + compute + move == 0) return "";

  if (std::max(lanes, network) >= kSaturated) {
    return fmt::format(
        "the learner: its lanes are busy {} of the time, its network thread {}; actors wait {} and "
        "compute {}",
        Percent(lanes), Percent(network), Percent(wait), Percent(compute));
  }
  const std::string learner_too = fmt::format(
      "the learner's lanes are busy {}, its network thread {}", Percent(lanes), Percent(network));
  if (compute >= std::max(wait, move)) {
    // A simulated actor's time is not divided.
    const std::string parts = actors("gradient") == 0
                                  ? ""
                                  : fmt::format(" (act {}, gradient {})", Percent(actors("act")),
                                                Percent(actors("gradient")));
    return fmt::format("the actors: they compute {} of the time{}; {}", Percent(compute), parts,
                       learner_too);
  }
  if (wait >= move) {
    return fmt::format("waiting: actors wait {} of the time for a grant and compute {}; {}",
                       Percent(wait), Percent(compute), learner_too);
  }
  return fmt::format(
      "the wire: actors fetch weights {} of the time, push gradients {} and compute {}; {}",
      Percent(refresh), Percent(push), Percent(compute), learner_too);
}

}  // namespace starling::results
