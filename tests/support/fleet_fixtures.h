// Running a program to its end in a directory of its own.
#pragma once

#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace starling {

struct Finished {
  int status = -1;  // exit status, or 128 + signal
  std::string out, err;
};

// Runs a program to its end in `dir`, with `environment` ("NAME=value") added.
inline Finished RunProgram(const TempDir& dir, const std::vector<std::string>& words,
                           const std::vector<std::string>& environment = {}) {
  Process process({.program = words.at(0),
                   .arguments = {words.begin() + 1, words.end()},
                   .directory = dir.path(),
                   .output = dir / "",
                   .environment = environment});
  const int status = process.Wait();
  return {status, process.out(), process.err()};
}

}  // namespace starling
