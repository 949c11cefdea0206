// `starling export`: a trained policy as a file for other programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace starling::exports {

struct ExportOptions {
  std::filesystem::path target;  // a run directory (its newest good checkpoint) or a checkpoint
  std::vector<std::string> overrides;  // "env.key=value", over the run's
  std::filesystem::path onnx;          // the file to write (policy_onnx.h)
};
// Writes the file whole or not at all. Returns the exit status. Throws UserError, or
// std::system_error naming the file if writing fails.
int RunExport(const ExportOptions& options);

}  // namespace starling::exports
