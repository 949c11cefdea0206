// Runs one program to its end, under a time limit.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace starling::bench {

// The operator ends the bench.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// Throws Interrupted if `stop_fd` is readable.
void ThrowIfInterrupted(int stop_fd);

struct ChildCall {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  double timeout_s = 60;
  int stop_fd = -1;                      // readable: ends the child and throws Interrupted
  std::function<void(int pid)> watch{};  // if set, called about a hundred times a second
};

struct ChildReport {
  double seconds = 0;  // from the start to the end
  std::string output;  // standard output and error together
};

// Runs the program to its end. Throws std::runtime_error, with the program's name and the end of
// its output, if it cannot be started, fails or exceeds its time; it is then terminated, and killed
// if it does not end by itself.
ChildReport RunChild(const ChildCall& call);

}  // namespace starling::bench
