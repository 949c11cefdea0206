// Checks for our own bugs. A failed CHECK aborts and prints the values. An operator's mistake is a
// UserError (core/error.h) instead, and a faulty peer gets a returned verdict and a counter.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace starling {

[[noreturn, gnu::noinline]] inline void CheckFailed(const char* file, int line,
                                                    const char* condition,
                                                    std::string_view message) {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed%s%.*s\n", file, line, condition,
               message.empty() ? "" : ": ", static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace starling

// CHECK(cond) or CHECK(cond, "fmt {}", value): aborts the process if `cond` is false.
#define CHECK(condition, ...)                                                                 \
  do {                                                                                        \
    if (!(condition)) [[unlikely]] {                                                          \
      ::starling::CheckFailed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                         \
  } while (false)
