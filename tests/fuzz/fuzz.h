// Shared by the fuzz targets. A target is one function that libFuzzer calls with bytes of its own
// making (scripts/fuzz), and replay_main.cc with the files of its corpus. It must survive any
// bytes: a failed CHECK, a sanitizer's report and an unexpected exception are the bugs it looks
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace starling::fuzz {

inline std::string_view AsText(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Bytes taken from the front of an input; behind its end there are zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(AsText(data, size)) {}

  template <class T>
  T Take() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    const std::string_view bytes = Take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // Fewer if there are no more.
  std::string_view Take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace starling::fuzz
