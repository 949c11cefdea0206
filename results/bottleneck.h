// The bottleneck of a run, in one sentence.
#pragma once

#include <string>

#include "learner/run_status.h"

namespace starling::results {

// Returns a + factor * b, member by member: +1 for the time of several runs, -1 for the time
// between two moments.
learner::TimeStatus Sum(const learner::TimeStatus& a, const learner::TimeStatus& b, double factor);

// Fractions of the time that passed, three decimals. An actor's add up to 1, as do receive,
// dispatch and idle of the learner's network thread. The learner's lanes are threads of their own.
learner::TimeStatus TimeShares(const learner::TimeStatus& time);

// "the actors: they compute 92 % of the time (act 38 %, gradient 54 %); ...". Returns "" if no
// gradient has arrived yet.
std::string NameBottleneck(const learner::TimeStatus& time);

}  // namespace starling::results
