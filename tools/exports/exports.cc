#include "tools/exports/exports.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string_view>

#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "core/safetensors.h"
#include "core/text.h"
#include "core/version.h"
#include "results/trained.h"
#include "tools/exports/onnx_model.h"
#include "tools/exports/policy_onnx.h"
#include "tools/exports/policy_torch.h"

namespace starling::exports {
namespace {

namespace fs = std::filesystem;

void CheckName(const char* option, const fs::path& path, const char* extension) {
  if (path.extension() != extension) {
    throw UserError(
        fmt::format("{} {}: its name must end in {}", option, path.string(), extension));
  }
  CheckWritable(option, path);
}

fs::path ModuleBeside(fs::path safetensors) { return safetensors.replace_extension(".py"); }

bool IsExported(const fs::path& safetensors) {
  try {
    return SafetensorsFile::Read(safetensors).metadata().contains(std::string(kPolicyKey));
  } catch (const std::runtime_error&) {  // damaged, or no such file
    return false;
  }
}

bool IsModule(const fs::path& path) {
  const std::string_view text = kPolicyInTorch;
  return ReadFile(path).starts_with(text.substr(0, text.find('\n')));
}

// Checkpoints have the same extension, and .py is the user's.
void CheckOverwritten(const fs::path& safetensors) {
  const fs::path module = ModuleBeside(safetensors);
  CheckWritable("--safetensors", module);
  const auto refuse = [](const fs::path& path, const char* what) {
    throw UserError(fmt::format("--safetensors: {} is there and is {}: it is not overwritten",
                                path.string(), what));
  };
  if (fs::exists(safetensors) && !IsExported(safetensors))
    refuse(safetensors, "no exported policy");
  if (fs::exists(module) && !IsModule(module)) refuse(module, "another program");
}

// Behind a link, the file it leads to.
void Write(const fs::path& path, std::string_view bytes) {
  WriteFileAtomically(fs::weakly_canonical(path), bytes);
  std::printf("%s\n", path.c_str());
}

}  // namespace

int RunExport(const ExportOptions& options) {
  const auto& [target, overrides, onnx, safetensors] = options;
  // 1. Files that can be written, and are no checkpoints, before weights are read.
  if (!onnx.empty()) CheckName("--onnx", onnx, ".onnx");
  if (!safetensors.empty()) {
    CheckName("--safetensors", safetensors, ".safetensors");
    CheckOverwritten(safetensors);
  }
  // 2. The policy.
  const auto [config, env, checkpoint] = results::LoadPolicy(target, overrides);
  const std::map<std::string, std::string> properties{{"program", BuildLine("starling")},
                                                      {"environment", env.name},
                                                      {"steps", std::to_string(checkpoint.steps)}};
  LogInfo("{} weights of {} after {} steps", Grouped(checkpoint.layout.num_weights()), env.name,
          Grouped(checkpoint.steps));
  // 3. Its files.
  if (!onnx.empty()) Write(onnx, PolicyOnnx(config, env, checkpoint.weights, properties));
  if (!safetensors.empty()) {
    WriteTorchPolicy(fs::weakly_canonical(safetensors),
                     PolicyTorch(config, env, checkpoint.weights), properties);
    std::printf("%s\n", safetensors.c_str());
    Write(ModuleBeside(safetensors), kPolicyInTorch);
  }
  return kExitDone;
}

}  // namespace starling::exports
