// Replaces the parts that the build without libraries leaves out: envs in other processes and the
// fast CPU backend.
#include "core/error.h"
#include "envs/bridge/bridge.h"
#include "net/backend.h"

namespace starling {

namespace envs {

namespace {
[[noreturn]] void Refuse(const EnvConfig& config) {
  throw UserError(config.name + ": starling-bare plays bundled games only");
}
}  // namespace

FrameSpec GymSpec(const EnvConfig& config) { Refuse(config); }
FrameSpec AleSpec(const EnvConfig& config) { Refuse(config); }
FrameSpec PluginSpec(const EnvConfig& config) { Refuse(config); }
std::unique_ptr<FrameEnvs> MakeGymFrames(const EnvConfig& config, int, const EnvSeed&,
                                         const WhileWaiting&) {
  Refuse(config);
}
std::unique_ptr<FrameEnvs> MakeAleFrames(const EnvConfig& config, int, const EnvSeed&,
                                         const WhileWaiting&) {
  Refuse(config);
}
std::unique_ptr<FrameEnvs> MakePluginFrames(const EnvConfig& config, int, const EnvSeed&,
                                            const WhileWaiting&) {
  Refuse(config);
}

}  // namespace envs

namespace net {

std::unique_ptr<Backend<float>> MakeCpuBackend(Precision precision, Instructions) {
  if (precision != Precision::kF32) throw UserError("starling-bare computes in f32 on processors");
  return MakeReferenceBackend<float>();
}

}  // namespace net

}  // namespace starling
