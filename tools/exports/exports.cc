#include "tools/exports/exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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

// Python must be able to import the module, which must not hide those that it needs itself.
void CheckModuleName(const std::string& name) {
  constexpr std::string_view kNeeded[] = {"torch", "json", "typing"};
  const auto of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  const bool good = std::ranges::all_of(name, of_name) &&
                    !std::isdigit(static_cast<unsigned char>(name.front())) &&
                    std::ranges::count(kNeeded, name) == 0;
  if (good) return;
  throw UserError(
      fmt::format("--safetensors {0}.safetensors: {0}.py is written beside it, which "
                  "Python cannot import: use another name of letters, digits and "
                  "underscores",
                  name));
}

// Checkpoints have the same extension, and a module may have been changed.
void CheckOverwritten(const fs::path& safetensors) {
  const fs::path module = ModuleBeside(safetensors);
  CheckModuleName(module.stem());
  CheckWritable("--safetensors", module);
  const auto refuse = [](const fs::path& path, const char* what) {
    throw UserError(fmt::format("--safetensors: {} is there and is {}: it is not overwritten",
                                path.string(), what));
  };
  if (fs::exists(safetensors) && !IsExported(safetensors))
    refuse(safetensors, "no exported policy");
  if (fs::exists(module) && ReadFile(module) != kPolicyInTorch) {
    refuse(module, "not what would be written");
  }
}

// Behind a link, the file that it leads to.
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
  const auto [config, env, path, checkpoint] = results::LoadPolicy(target, overrides);
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
