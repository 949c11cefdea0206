// The operator's mistake: thrown anywhere, caught once in main, printed as one line (what, where,
// what to do), exit status 2.
#pragma once

#include <stdexcept>
#include <string>

namespace starling {

class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& sentence) : std::runtime_error(sentence) {}
};

// Exit statuses of every program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUserError = 2;
inline constexpr int kExitInterrupted = 130;

}  // namespace starling
