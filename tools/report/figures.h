// Curves of the page: return, evaluations and throughput of all groups.
#pragma once

#include <string>
#include <vector>

#include "tools/report/facet_grid.h"

namespace starling::report {

constexpr std::size_t kPointsOfGroup = 120;  // of a curve, at most: more than the eye tells apart
constexpr std::size_t kMaxThin = 12;         // runs of a group that are drawn one by one, at most
constexpr std::size_t kMaxTogether = 8;      // groups in one figure, if a grid can part them
constexpr double kWindows = 60;              // of throughput, in the longest run

// Sections in HTML. Returns are drawn apart for each environment, as those of different ones have
// no scale in common. With a `grid` each of its rows has a small figure of its own, all on one
// scale.
std::string LearningSection(const std::vector<Group>& groups,
                            const std::vector<results::LoadedRun>& runs, const FacetGrid* grid);
// "" if none of `runs` was evaluated while training.
std::string EvaluationSection(const std::vector<Group>& groups,
                              const std::vector<results::LoadedRun>& runs, const FacetGrid* grid);
std::string ThroughputSection(const std::vector<Group>& groups,
                              const std::vector<results::LoadedRun>& runs, const FacetGrid* grid);

}  // namespace starling::report
