// `starling export`: a trained policy as a file for other programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace starling::exports {

struct ExportOptions {
  std::filesystem::path target;  // a run directory (its newest good checkpoint) or a checkpoint
  std::vector<std::string> overrides;  // "env.key=value", over the run's
  // The files to write; "": not this one.
  std::filesystem::path onnx;         // policy_onnx.h
  std::filesystem::path safetensors;  // policy_torch.h; with a module for Python beside it
};
// Writes each file whole or not at all. Returns the exit status. Throws UserError, or
// std::system_error naming the file if writing fails. REQUIRES: there is a file to write.
int RunExport(const ExportOptions& options);

}  // namespace starling::exports
