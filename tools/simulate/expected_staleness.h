// The mean staleness of a fleet without a bound, in closed form: what queues say, beside what a
// simulation measures (docs/staleness.md).
#pragma once

#include <optional>

#include "core/config/config.h"

namespace starling::simulate {

// Returns about the mean staleness of applied gradients once the fleet is at its pace, from the
// times of [simulate], or nullopt if a bound or reused data change it. With a delay it is the
// delay.
//
// N actors hold F grants each, an update takes K gradients. An actor computes for C seconds, X
// gradients arrive in a second, and D seconds pass on the way of a gradient to its update and of
// the new weights to an actor.
// - An actor that runs out of grants begins when an update of its own arrives there. Until its next
//   one every one of the N F grants is spent once on average (Little 1961): N F / K - 1. It is so
//   with one grant, and where the learner limits.
// - An actor that always computes begins at any time, and the updates of C + D seconds precede its
//   own: X (C + D) / K, which is (N + X D) / K if all do. (With K > 1 a gradient waits for others,
//   and updates come more evenly: the two terms of renewal theory, +- (1 - 1 / K) / 2, cancel.)
// The smaller of the two holds, for each kind of actors, slow or not. D has the waiting at the
// learner's network thread and lanes, each a queue M/D/1 of service time s: X s^2 / (2 - 2 X s)
// (Pollaczek and Khinchine). Where times do not vary, actors stay in step, and gradients are up to
// (N - 1) / 2 older.
std::optional<double> ExpectedStaleness(const Config& config);

}  // namespace starling::simulate
