#include "api/guard.h"

#include <string>

#include "core/version.h"

namespace starling::api {
namespace {

// A literal where there was no memory for a sentence.
thread_local std::string sentence;
thread_local const char* last = "";

}  // namespace

starling_status Fail(starling_status status, const char* text) noexcept {
  try {
    sentence = text;
    last = sentence.c_str();
  } catch (...) {
    last = "there is not enough memory";
  }
  return status;
}

}  // namespace starling::api

const char* starling_error(void) { return starling::api::last; }

int32_t starling_interface(void) { return STARLING_INTERFACE; }

const char* starling_version(void) {
  try {
    static const std::string line = starling::VersionLine("starling");
    return line.c_str();
  } catch (...) {
    return "starling";  // there is no memory for more
  }
}
