// The sentence with which code refuses a user's request.
#pragma once

#include <string>

#include "core/error.h"

namespace starling {

// Returns the message of the UserError that `act` throws, or "" if it throws none.
template <class Act>
std::string ErrorOf(const Act& act) {
  try {
    act();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace starling
