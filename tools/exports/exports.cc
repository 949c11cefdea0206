#include "tools/exports/exports.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "core/text.h"
#include "core/version.h"
#include "envs/registry.h"
#include "results/trained.h"
#include "tools/exports/onnx_model.h"
#include "tools/exports/policy_onnx.h"

namespace starling::exports {

int RunExport(const ExportOptions& options) {
  // 1. A file that can be written, and is no checkpoint, before weights are read.
  if (options.onnx.extension() != ".onnx") {
    throw UserError(fmt::format("--onnx {}: its name must end in .onnx", options.onnx.string()));
  }
  CheckWritable("--onnx", options.onnx);
  // 2. The policy.
  const results::Trained trained = results::LoadTrained(options.target, options.overrides);
  const envs::EnvSpec env = envs::SpecOf(trained.config.env);
  const learner::Checkpoint& checkpoint = trained.checkpoint;
  const std::string file = PolicyOnnx(trained.config, env, checkpoint.weights,
                                      {{"program", BuildLine("starling")},
                                       {"environment", env.name},
                                       {"steps", std::to_string(checkpoint.steps)}});
  WriteFileAtomically(std::filesystem::weakly_canonical(options.onnx), file);  // behind a link
  LogInfo("{} weights of {} after {} steps, opset {}", Grouped(checkpoint.layout.num_weights()),
          env.name, Grouped(checkpoint.steps), kOpset);
  std::printf("%s\n", options.onnx.c_str());
  return kExitDone;
}

}  // namespace starling::exports
