// For tests of recorded play: the lines of a recording, changed and written where the test ends.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace starling::envs {

inline std::filesystem::path TraceData(const std::string& name) {
  return std::filesystem::path(STARLING_SOURCE_DIR) / "tests/data/traces" / name;
}

inline std::filesystem::path WriteGzip(const TempDir& dir, const std::string& name,
                                       const std::vector<std::string>& lines) {
  const std::filesystem::path path = dir / name;
  gzFile file = gzopen(path.c_str(), "wb");
  for (const std::string& line : lines) gzputs(file, (line + "\n").c_str());
  gzclose(file);
  return path;
}

inline std::vector<std::string> GunzippedLines(const std::filesystem::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::vector<std::string> lines;
  std::vector<char> buffer(1 << 16);
  while (gzgets(file, buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
    lines.emplace_back(buffer.data());
    lines.back().pop_back();
  }
  gzclose(file);
  return lines;
}

// The index of the line of step `step` (from 1); the header and the resets are lines too.
inline std::size_t LineOfStep(const std::vector<std::string>& lines, int step) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (!nlohmann::json::parse(lines[i]).contains("reset") && --step == 0) return i;
  }
  throw std::runtime_error("the recording is too short");
}

// Changes one line as JSON.
inline void Edit(std::string& line, const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json json = nlohmann::json::parse(line);
  change(json);
  line = json.dump();
}

}  // namespace starling::envs
