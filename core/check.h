// Checks for our own bugs. A failed CHECK aborts and prints the values. An operator's mistake is a
// UserError (core/error.h) instead, and a faulty peer gets a returned verdict and a counter.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace starling {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view message);

}  // namespace starling

// CHECK(cond) or CHECK(cond, "fmt {}", value): aborts the process if `cond` is false.
#define CHECK(condition, ...)                                                                 \
  do {                                                                                        \
    if (!(condition)) [[unlikely]] {                                                          \
      ::starling::CheckFailed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                         \
  } while (false)
