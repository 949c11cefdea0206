// Which runs an operator means by a directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace starling::report {

struct FoundRun {
  std::filesystem::path dir;
  bool begun = true;     // false: a sweep has it before it
  std::string error{};   // the last sentence of a failed one, if a sweep knows it
  bool running = false;  // of a sweep that is at work
};

// Each of `given` is a run directory, a sweep's, or a folder that holds runs up to two levels below
// it. A sweep's runs come in the order of its grid, others by name; each run once. Throws UserError
// naming every directory that is nothing of the kind.
std::vector<FoundRun> FindRuns(const std::vector<std::filesystem::path>& given);

}  // namespace starling::report
