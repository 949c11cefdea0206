#include "results/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace starling::results {
namespace {

constexpr double kSaturated = 0.8;  // the others wait for a thread this busy

double Share(double part, double whole) {
  return whole > 0 ? std::round(part / whole * 1000) / 1000 : 0;
}

double Whole(double share) { return std::round(100 * share) / 100; }
std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace

learner::TimeStatus Sum(const learner::TimeStatus& a, const learner::TimeStatus& b, double factor) {
  return {.actors = {.wait = a.actors.wait + factor * b.actors.wait,
                     .refresh = a.actors.refresh + factor * b.actors.refresh,
                     .act = a.actors.act + factor * b.actors.act,
                     .gradient = a.actors.gradient + factor * b.actors.gradient,
                     .push = a.actors.push + factor * b.actors.push},
          .learner = {.receive = a.learner.receive + factor * b.learner.receive,
                      .dispatch = a.learner.dispatch + factor * b.learner.dispatch,
                      .idle = a.learner.idle + factor * b.learner.idle,
                      .lanes = a.learner.lanes + factor * b.learner.lanes}};
}

learner::TimeStatus TimeShares(const learner::TimeStatus& time) {
  const double actors = time.actors.total(), learner = time.learner.total();
  return {.actors = {.wait = Share(time.actors.wait, actors),
                     .refresh = Share(time.actors.refresh, actors),
                     .act = Share(time.actors.act, actors),
                     .gradient = Share(time.actors.gradient, actors),
                     .push = Share(time.actors.push, actors)},
          .learner = {.receive = Share(time.learner.receive, learner),
                      .dispatch = Share(time.learner.dispatch, learner),
                      .idle = Share(time.learner.idle, learner),
                      .lanes = Share(time.learner.lanes, learner)}};
}

std::string NameBottleneck(const learner::TimeStatus& time) {
  const auto [actors, learner] = TimeShares(time);
  const auto& [wait, refresh, act, gradient, push] = actors;
  // The percentages printed for act and gradient add up to the one printed for both.
  const double compute = Whole(act) + Whole(gradient), move = refresh + push;
  const double network = learner.receive + learner.dispatch, lanes = learner.lanes;
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
    // A simulated actor's time is all `act`.
    const std::string parts =
        gradient == 0 ? "" : fmt::format(" (act {}, gradient {})", Percent(act), Percent(gradient));
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
