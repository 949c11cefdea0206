#include "actors/device_env.h"

#include <algorithm>
#include <utility>

namespace starling::actors {

DeviceEnv::DeviceEnv(std::unique_ptr<envs::VecEnv> env, Memory& memory)
    : env_(std::move(env)),
      memory_(memory),
      actions_(static_cast<std::size_t>(env_->size()), memory.host_side()),
      observations_(actions_.size() * env_->spec().row(), memory.host_side()),
      rewards_(actions_.size(), memory.host_side()),
      terminals_(actions_.size(), memory.host_side()) {}

void DeviceEnv::Reset(std::span<float> observations) {
  memory_.Wait();  // earlier observations may still be on their way
  env_->Reset(observations_.span());
  truncated_.clear();
  Write<float>(memory_, observations, observations_.span());
}

void DeviceEnv::Step(std::span<const std::int32_t> actions, std::span<float> observations,
                     std::span<float> rewards, std::span<std::uint8_t> terminals) {
  Read(memory_, actions_.span(), actions);
  memory_.Wait();
  env_->Step(actions_.span(), observations_.span(), rewards_.span(), terminals_.span());
  KeepTruncated();
  Write<float>(memory_, observations, observations_.span());
  Write<float>(memory_, rewards, rewards_.span());
  Write<std::uint8_t>(memory_, terminals, terminals_.span());
}

void DeviceEnv::KeepTruncated() {
  truncated_.clear();
  for (const envs::Truncated& end : env_->truncated()) {
    if (final_observations_.size() == 0) {
      final_observations_ = Buffer<float>(observations_.size(), memory_.host_side());
    }
    const auto at = static_cast<std::size_t>(end.env) * end.observation.size();
    const auto kept = final_observations_.span().subspan(at, end.observation.size());
    std::ranges::copy(end.observation, kept.begin());
    truncated_.push_back({end.env, kept});
  }
}

}  // namespace starling::actors
