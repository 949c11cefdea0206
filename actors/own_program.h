// A program of the user's that computes the gradients of an external net (actors.command): its
// start, and the variables of its environment (STARLING_RUN_DIR and others) that name its learner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/learner_place.h"
#include "core/child.h"
#include "core/config/config.h"

namespace starling::actors {

struct ToldPlace {
  LearnerPlace place;
  std::int64_t slot = -1;  // to ask for; negative: any
  double connect_timeout_s = WireConfig{}.connect_timeout_s;
};

// Returns the process of the program with these words (actors.command). REQUIRES: there are words.
ChildSpec OwnProgramSpec(const std::vector<std::string>& words, const ToldPlace& told);

// What the variables tell. Throws UserError if they name no place or two, or a number is none.
ToldPlace PlaceOfVariables();

}  // namespace starling::actors
