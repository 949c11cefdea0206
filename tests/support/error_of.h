// The sentence with which code refuses a user's request, or with which it fails.
#pragma once

#include <string>

#include "core/error.h"

namespace starling {

// Returns the message of the error that `act` throws, or "" if it throws none.
template <class Error = UserError, class Act>
std::string ErrorOf(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace starling
