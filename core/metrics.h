// metrics.jsonl: one JSON object per line, readable while the run goes on.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace starling {

class MetricsFile {
 public:
  // Opens for appending. The first Write ends a torn last line of a killed writer. Throws
  // std::system_error.
  explicit MetricsFile(const std::filesystem::path& path);
  // Returns false if the line was not written (a full disk): training goes on, the caller warns.
  bool Write(const nlohmann::ordered_json& line);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
  bool torn_ = false;  // the file ends within a line
};

}  // namespace starling
