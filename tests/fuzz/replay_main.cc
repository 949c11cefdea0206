// Calls a fuzz target with every file of the directories given, in the order of their names: seeds
// and past findings of libFuzzer, for any compiler. The last name printed is the one that failed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/file.h"
#include "tests/fuzz/fuzz.h"

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    fmt::print(stderr, "{}\n", file.filename().string());
    const std::string bytes = starling::ReadFile(file);
    // A block of exactly this size, so that AddressSanitizer sees a step over its end.
    const auto block = std::make_unique<std::uint8_t[]>(bytes.size());
    std::ranges::copy(bytes, block.get());
    LLVMFuzzerTestOneInput(block.get(), bytes.size());
  }
  fmt::print("{} inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
