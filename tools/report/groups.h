// Runs that differ in their seed alone belong together; what distinguishes the groups names them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/run_record.h"

namespace starling::report {

// A page, or a part of it: a set of runs whose groups are compared.
struct Part {
  std::string name;  // "" if it is the only one
  std::vector<results::LoadedRun> runs;
};

struct Group {
  std::string label;           // "bound = 4"
  results::FlatConfig config;  // without run.seed, run.name and run.dir, but with "simulated"
  std::vector<const results::LoadedRun*> runs;  // in the order in which they were given
  std::size_t style = 0;  // of its lines (GroupClass): its number, or its column's
  // Those that count: all that is said of a group is said of them.
  std::vector<const results::LoadedRun*> Finished() const;
  std::string Env() const;  // "minatar/breakout"
};

// Of finished runs with the same configuration, seed and all, the first counts: the others are
// marked and say so. Otherwise a copied directory would be evidence.
void MarkRepeated(std::vector<results::LoadedRun>& runs);

// A value as people read it: TOML without its quotes; "(not there)" if it is "".
std::string Plain(const std::string& toml);

// In the order of their first runs. Simulated runs are never in one group with others: "simulated"
// is a key in which they differ. Runs whose configuration cannot be read are in none. `runs` must
// outlive the groups.
std::vector<Group> MakeGroups(const std::vector<results::LoadedRun>& runs);

// A key in which groups differ, and its value in each of them as TOML ("" where it is not there).
struct KeyDifference {
  std::string key;
  std::vector<std::string> values;
};
std::vector<KeyDifference> Differences(const std::vector<Group>& groups);

// Few of them that tell all groups apart, found one after the other: the environment first, whether
// it was simulated next, what
// often follows from other keys last, and otherwise whichever splits most.
std::vector<KeyDifference> TellingKeys(const std::vector<KeyDifference>& differences,
                                       std::size_t groups);

}  // namespace starling::report
