#include "actors/staged_net.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace starling::actors {
namespace {

net::PartSpec CheckedNet(const net::ModelSpec& spec, const net::Batch& batch) {
  CHECK(spec.critic == Critic::kShared, "stages cut one stack");
  net::PartSpec whole = net::WholeNet(spec);
  net::CheckCounts(spec, whole.layers, batch);
  return whole;
}

}  // namespace

StagedNet::StagedNet(const net::ModelSpec& spec, int stages, const Replica& replica,
                     const net::Batch& batch, std::vector<net::Block> groups, Threads threads)
    : batch_(batch),
      groups_(std::move(groups)),
      memory_(replica.backend->memory()),
      whole_(CheckedNet(spec, batch), *replica.backend, {.envs = 0, .steps = 0}),
      logits_(Length(batch.steps * batch.envs * spec.actions.outputs()), memory_),
      values_(Length(batch.steps * batch.envs), memory_),
      logits_in_(logits_.span(), memory_),
      values_in_(values_.span(), memory_),
      jobs_(values_.size()),
      stages_(Length(stages)),
      pipeline_(
          stages, [this](int stage) { stages_[Length(stage)] = nullptr; },
          threads == Threads::kOneEach) {
  // 1. Each stage on its thread.
  const std::vector<net::PartSpec> parts = net::CutIntoStages(spec, stages);
  pipeline_.Wait(pipeline_.Submit(Way::kEach, [&](int stage) {
    stages_[Length(stage)] =
        std::make_unique<Stage>(stage == 0 ? Replica{} : replica.next(stage), *replica.backend,
                                parts[Length(stage)], batch, static_cast<int>(groups_.size()));
  }));
  // 2. Their parameters follow each other as their layers do.
  std::size_t begin = 0;
  for (const auto& stage : stages_) {
    stage->set_begin(begin);
    begin += stage->parameters();
  }
  CHECK(begin == layout().size(), "{} parameters of {}", begin, layout().size());
}

StagedNet::~StagedNet() = default;

void StagedNet::TakeWeights(std::span<const float> host) {
  pipeline_.Submit(Way::kEach, [this, host](int stage) {
    if (stage > 0) At(stage)->TakeWeights(host);
  });
}

std::span<float> StagedNet::observations() { return At(0)->part().input(); }
std::span<std::uint8_t> StagedNet::resets() { return At(0)->part().resets(); }

std::size_t StagedNet::RowOf(const net::Block& block) const {
  return Length(block.step * batch_.envs + block.first);
}

NumberedBlock StagedNet::Numbered(const net::Block& block) const {
  const auto group = std::ranges::find(groups_, block.first, &net::Block::first);
  CHECK(group != groups_.end() && group->envs == block.envs, "envs {} + {}", block.first,
        block.envs);
  const auto index = static_cast<int>(group - groups_.begin());
  return {block, block.step * static_cast<int>(groups_.size()) + index};
}

void StagedNet::Forward(std::span<const float> parameters, int step) {
  for (net::Block block : groups_) {
    block.step = step;
    Forward(parameters, block, step - 1);
    Await(block);
  }
}

void StagedNet::Forward(std::span<const float> parameters, const net::Block& block, int before) {
  const NumberedBlock numbered = Numbered(block);
  jobs_[RowOf(block)] = pipeline_.Submit(Way::kUp, [=, this](int stage) {
    At(stage)->Forward(parameters, numbered, before, At(stage - 1), *At(0));
  });
}

bool StagedNet::Ready(const net::Block& block) { return pipeline_.Done(jobs_[RowOf(block)]); }

void StagedNet::Await(const net::Block& block) {
  pipeline_.Wait(jobs_[RowOf(block)]);
  const std::size_t row = RowOf(block), rows = Length(block.envs), width = Length(outputs());
  const Stage& top = *stages_.back();
  Pass(top.logits_out(), logits_in_, row * width, rows * width);
  Pass(top.values_out(), values_in_, row, rows);
}

void StagedNet::Carry(int step) {
  pipeline_.Submit(Way::kEach, [this, step](int stage) { At(stage)->part().Carry(step); });
}

// In the order of the layers, which is that of a net in one part.
void StagedNet::CarriedFields(StateBytes& state) {
  for (int one = 0; one < pipeline_.stages(); ++one) {
    pipeline_.Wait(pipeline_.Submit(Way::kEach, [&](int stage) {
      if (stage == one) At(stage)->part().CarriedFields(state);
    }));
  }
}

void StagedNet::Backward(std::span<const float> parameters, int steps,
                         std::span<const float> dlogits, std::span<const float> dvalues,
                         std::span<float> gradient) {
  // 1. The gradients of the heads' outputs go to the last stage.
  const auto logits = ToHost(dlogits, dlogits_copy_), values = ToHost(dvalues, dvalues_copy_);
  memory_.Wait();
  pipeline_.Submit(Way::kEach, [=, this](int stage) {
    if (At(stage)->has_heads()) At(stage)->PutHeadGradients(logits, values);
  });
  // 2. Block by block, back in time and down; then the gradients of weights.
  for (int step = steps - 1; step >= 0; --step) {
    for (net::Block block : groups_) {
      block.step = step;
      const NumberedBlock numbered = Numbered(block);
      pipeline_.Submit(Way::kDown, [=, this](int stage) {
        At(stage)->Backward(parameters, numbered, steps, At(stage + 1));
      });
    }
  }
  pipeline_.Wait(pipeline_.Submit(
      Way::kEach, [=, this](int stage) { At(stage)->Weights(parameters, steps, gradient); }));
  // 3. The owner gets the whole gradient.
  Collect(gradient);
}

// Queues a copy, unless the array is on the host.
std::span<const float> StagedNet::ToHost(std::span<const float> there, Buffer<float>& copy) {
  if (memory_.on_host()) return there;
  if (copy.size() == 0) copy = Buffer<float>(there.size(), memory_.host_side());
  CHECK(copy.size() == there.size(), "{} numbers, {} before", there.size(), copy.size());
  Read<float>(memory_, copy.span(), there);
  return copy.span();
}

// Brings the gradients of stages on other GPUs to that of stage 0.
void StagedNet::Collect(std::span<float> gradient) {
  if (memory_.on_host()) return;
  if (gradient_copy_.size() == 0) {
    gradient_copy_ = Buffer<float>(gradient.size(), memory_.host_side());
  }
  for (const auto& stage : stages_) {
    const std::span<const float> from = stage->fetched_gradient();
    const std::span<float> here = gradient_copy_.span().subspan(stage->begin(), from.size());
    std::ranges::copy(from, here.begin());
    Write<float>(memory_, gradient.subspan(stage->begin(), from.size()), here);
  }
}

std::vector<std::int64_t> StagedNet::busy_ns() const {
  std::vector<std::int64_t> busy;
  for (int stage = 0; stage < pipeline_.stages(); ++stage) busy.push_back(pipeline_.busy_ns(stage));
  return busy;
}

}  // namespace starling::actors
