// What limits the speed of a run, in one sentence.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "learner/status.h"

namespace starling::results {

// Fractions of the time that passed, three decimals: {"actors": {wait, refresh, act, gradient,
// push}, "learner": {receive, dispatch, idle, lanes}}. An actor's add up to 1, as do receive,
// dispatch and idle of the learner's network thread; its lanes are threads of their own.
nlohmann::ordered_json TimeShares(const learner::TimeStatus& time);

// "the actors: they compute 92 % of the time (act 38 %, gradient 54 %); ...", from TimeShares.
// Empty if no gradient has arrived yet.
std::string NameBottleneck(const nlohmann::ordered_json& shares);

}  // namespace starling::results
