#include "results/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace starling::results {
namespace {

using Actors = learner::TimeStatus::Actors;
using Learner = learner::TimeStatus::Learner;
constexpr double Actors::*kOfActors[] = {&Actors::wait,     &Actors::refresh,  &Actors::act,
                                         &Actors::act_wait, &Actors::gradient, &Actors::push};
constexpr double Learner::*kOfLearner[] = {&Learner::receive, &Learner::dispatch, &Learner::idle,
                                           &Learner::lanes};

constexpr double kSaturated = 0.8;  // the others wait for a thread this busy

double Share(double part, double whole) {
  return whole > 0 ? std::round(part / whole * 1000) / 1000 : 0;
}

double Whole(double share) { return std::round(100 * share) / 100; }
std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace

learner::TimeStatus Sum(const learner::TimeStatus& a, const learner::TimeStatus& b, double factor) {
  learner::TimeStatus sum = a;
  for (const auto part : kOfActors) sum.actors.*part += factor * b.actors.*part;
  for (const auto part : kOfLearner) sum.learner.*part += factor * b.learner.*part;
  return sum;
}

learner::TimeStatus TimeShares(const learner::TimeStatus& time) {
  learner::TimeStatus shares = time;
  for (const auto part : kOfActors)
    shares.actors.*part = Share(time.actors.*part, time.actors.total());
  for (const auto part : kOfLearner)
    shares.learner.*part = Share(time.learner.*part, time.learner.total());
  return shares;
}

std::string NameBottleneck(const learner::TimeStatus& time) {
  const auto [actors, learner] = TimeShares(time);
  const auto& [wait, refresh, act, act_wait, gradient, push] = actors;
  // The percentages printed for act and gradient add up to the one printed for both.
  const double compute = Whole(act) + Whole(gradient), move = refresh + push;
  const double network = learner.receive + learner.dispatch, lanes = learner.lanes;
  if (wait + compute + act_wait + move == 0) return "";

  if (std::max(lanes, network) >= kSaturated) {
    return fmt::format(
        "the learner: its lanes are busy {} of the time, its network thread {}; actors wait {} and "
        "compute {}",
        Percent(lanes), Percent(network), Percent(wait), Percent(compute));
  }
  const std::string learner_too = fmt::format(
      "the learner's lanes are busy {}, its network thread {}", Percent(lanes), Percent(network));
  if (act_wait >= std::max({wait, compute, move})) {
    return fmt::format("the environments: actors wait {} of the time for them and compute {}; {}",
                       Percent(act_wait), Percent(compute), learner_too);
  }
  if (compute >= std::max(wait, move)) {
    // A simulated actor's time is all `act`, its pace included.
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
