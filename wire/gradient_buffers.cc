#include "wire/gradient_buffers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "core/check.h"

namespace starling::wire {

GradientBuffers::GradientBuffers(const std::filesystem::path& path, std::size_t count,
                                 std::size_t floats)
    : path_(path), floats_(floats), lent_(count) {
  CHECK(count > 0 && floats > 0 && floats % 16 == 0, "{} buffers of {} floats", count, floats);
  memory_ = SharedMemory::Create(path, count * floats * sizeof(float), "an actor's gradients");
}

GradientBuffers::~GradientBuffers() { unlink(path_.c_str()); }

std::optional<HeldTensor> GradientBuffers::Lend(std::size_t index) {
  if (index >= lent_.size() || !lent_[index].expired()) return std::nullopt;
  const auto* first = reinterpret_cast<const float*>(memory_->data()) + index * floats_;
  HeldTensor loan{.values = {first, floats_},
                  .hold = std::make_shared<std::shared_ptr<SharedMemory>>(memory_)};
  lent_[index] = loan.hold;
  return loan;
}

GradientBuffersClient::GradientBuffersClient(const std::filesystem::path& path, std::size_t floats)
    : memory_(SharedMemory::Open(path, SharedMemory::Access::kWrite)), floats_(floats) {
  const std::size_t bytes = floats * sizeof(float);
  if (memory_->size() % bytes != 0) {
    throw std::runtime_error(fmt::format("{}: {} bytes are no buffers of {} floats", path.string(),
                                         memory_->size(), floats));
  }
  pushed_.resize(memory_->size() / bytes);
}

std::optional<std::size_t> GradientBuffersClient::Free() const {
  for (std::size_t i = 0; i < pushed_.size(); ++i) {
    if (pushed_[i] == 0) return i;
  }
  return std::nullopt;
}

std::span<float> GradientBuffersClient::floats(std::size_t index) const {
  CHECK(index < pushed_.size(), "buffer {}", index);
  return {reinterpret_cast<float*>(memory_->data()) + index * floats_, floats_};
}

void GradientBuffersClient::Pushed(std::size_t index, std::uint64_t sequence) {
  CHECK(index < pushed_.size() && pushed_[index] == 0 && sequence > 0, "buffer {}", index);
  pushed_[index] = sequence;
}

void GradientBuffersClient::Answered(std::uint64_t sequence) {
  if (sequence > 0) std::ranges::replace(pushed_, sequence, std::uint64_t{0});
}

}  // namespace starling::wire
