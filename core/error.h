// The operator's mistake: thrown anywhere, caught once in main, printed as one line (the problem,
// its place, the remedy), exit status 2.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace starling {

class UserError : public std::runtime_error {
 public:
  // `key`: the configuration key that `sentence` is about and names, as in "env.pixels"; "" if
  // there is none.
  explicit UserError(const std::string& sentence, std::string key = "")
      : std::runtime_error(sentence), key_(std::move(key)) {}

  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

// The system's text for a value of errno: "No such file or directory".
inline std::string ErrorText(int error) { return std::generic_category().message(error); }

// Exit statuses of every program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUserError = 2;
inline constexpr int kExitGaveUp = 3;  // of a learner, to its supervisor: do not start it again
inline constexpr int kExitNotNow = 4;  // of a redo: no learner may start now, or updates are lost
inline constexpr int kExitInterrupted = 130;

}  // namespace starling
