// HasCodeFor of core/gpu.h: apart, because it needs no CUDA.
#include <charconv>

#include "core/gpu.h"

namespace starling {
namespace {

// `name` is one of CMake's names: a number ("90" is 9.0), an optional letter for that GPU alone
// ("90a"), and an optional "-real" (machine code only) or "-virtual" (PTX only).
bool Covers(std::string_view name, int major, int minor) {
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc()) return true;
  const std::string_view kind(end, name.data() + name.size());
  const int wanted = 10 * major + minor;
  if (kind.starts_with("a")) return number == wanted;
  const bool translated = number <= wanted, same = number / 10 == major;
  return translated && (same || kind != "-real");
}

}  // namespace

bool HasCodeFor(std::string_view architectures, int major, int minor) {
  while (!architectures.empty()) {
    const std::size_t end = std::min(architectures.find(';'), architectures.size());
    if (Covers(architectures.substr(0, end), major, minor)) return true;
    architectures.remove_prefix(std::min(end + 1, architectures.size()));
  }
  return false;
}

}  // namespace starling
