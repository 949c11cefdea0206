// Curves of the page: return, evaluations and throughput of all groups.
#pragma once

#include <string>
#include <vector>

#include "fleet/report/groups.h"

namespace starling::fleet {

constexpr std::size_t kPointsOfGroup = 200;  // of a curve, at most
constexpr std::size_t kMostThin = 12;        // runs of a group that are drawn one by one, at most
constexpr double kWindows = 60;              // of throughput, in the longest run

// Sections in HTML. Returns are drawn apart for each environment, as those of different ones have no
// scale in common.
std::string LearningSection(const std::vector<Group>& groups, const std::vector<LoadedRun>& runs);
// "" if none of `runs` was evaluated while training.
std::string EvaluationSection(const std::vector<Group>& groups, const std::vector<LoadedRun>& runs);
std::string ThroughputSection(const std::vector<Group>& groups, const std::vector<LoadedRun>& runs);

}  // namespace starling::fleet
