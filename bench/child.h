// Runs one program to its end, under a time limit.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace starling::bench {

// The operator wants the bench to end.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

struct ChildCall {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  double timeout_s = 60;
  int stop_fd = -1;  // readable: end the child and throw Interrupted
  std::function<void(int)>
      watch{};  // called with its pid about a hundred times a second; may be empty
};

struct ChildReport {
  double seconds = 0;  // from the start to the end
  std::string output;  // standard output and error together
};

// Throws std::runtime_error, naming the program and with the end of its output, if it cannot be
// started, fails, or is not done in time; it is gone then: told to stop, and killed if it does not.
ChildReport RunChild(const ChildCall& call);

}  // namespace starling::bench
