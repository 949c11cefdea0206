#include "api/guard.h"

#include <string>

#include "core/version.h"

namespace {

// A literal where there was no memory for a sentence.
thread_local std::string kept;
thread_local const char* last = "";

}  // namespace

starling_status starling_fail(starling_status status, const char* sentence) {
  try {
    kept = sentence == nullptr ? "" : sentence;
    last = kept.c_str();
  } catch (...) {
    last = "there is not enough memory";
  }
  return status;
}

const char* starling_error(void) { return last; }

int32_t starling_interface(void) { return STARLING_INTERFACE; }

const char* starling_version(void) {
  try {
    static const std::string line = starling::VersionLine("starling");
    return line.c_str();
  } catch (...) {
    return "starling";  // there is no memory for more
  }
}
