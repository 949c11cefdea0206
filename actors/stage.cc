#include "actors/stage.h"

#include <utility>

#include "core/check.h"

namespace starling::actors {
namespace {

constexpr int kMaxGraphs = 512;  // recorded blocks; more would take too much of a GPU's memory

}  // namespace

Stage::Stage(Replica made, net::Backend<float>& first, const net::PartSpec& spec,
             const net::Batch& batch, int groups)
    : replica_(std::move(made)),
      backend_(replica_.backend ? *replica_.backend : first),
      memory_(backend_.memory()),
      batch_(batch),
      blocks_(batch.steps * groups),
      part_(spec, backend_, batch),
      has_heads_(spec.policy.has_value()),
      weights_(replica_.backend && !memory_.on_host() ? parameters() : 0, memory_),
      gradient_(weights_.size(), memory_),
      dlogits_(part_.logits().size(), memory_),
      dvalues_(part_.values().size(), memory_),
      resets_out_(part_.resets(), memory_),
      resets_in_(part_.resets(), memory_),
      input_in_(part_.input(), memory_),
      weights_in_(weights_.span(), memory_),
      dlogits_in_(dlogits_.span(), memory_),
      dvalues_in_(dvalues_.span(), memory_),
      input_gradient_out_(part_.input_gradient(), memory_),
      gradient_out_(gradient_.span(), memory_),
      logits_out_(part_.logits(), memory_),
      values_out_(part_.values(), memory_) {
  CHECK(memory_.on_host() == first.memory().on_host(), "stages on a GPU and on the processor");
  if (has_heads_) return;
  output_out_ = {part_.output(), memory_};
  output_gradient_in_ = {part_.output_gradient(), memory_};
}

void Stage::TakeWeights(std::span<const float> host) {
  held_.reset();
  if (weights_.size() > 0) weights_in_.Put(0, host.subspan(begin_, weights_.size()));
  held_.emplace(backend_);
}

void Stage::Forward(std::span<const float> parameters, const NumberedBlock& numbered, int before,
                    const Stage* below, const Stage& bottom) {
  const net::Block& block = numbered.block;
  const std::size_t row = RowOf(block), rows = Length(block.envs);
  // 1. The output of the stage below, and where episodes begin.
  if (below != nullptr) {
    const std::size_t width = part_.in_size();
    Pass(below->output_out_, input_in_, row * width, rows * width);
    Pass(bottom.resets_out_, resets_in_, row, rows);
  } else {
    resets_out_.Fetch(row, rows);
  }
  // 2. The layers of this one. Rows behind the unroll continue from any step: not recorded.
  const auto compute = [&] { part_.Forward(WeightsIn(parameters), block, before); };
  if (before == block.step - 1) {
    Repeat(numbered.number, compute);
  } else {
    compute();
  }
  // 3. Its output, to the host.
  if (has_heads_) {
    const std::size_t width = Length(part_.outputs());
    logits_out_.Fetch(row * width, rows * width);
    values_out_.Fetch(row, rows);
  } else {
    const std::size_t width = part_.out_size();
    output_out_.Fetch(row * width, rows * width);
  }
  memory_.Wait();
}

void Stage::PutHeadGradients(std::span<const float> dlogits, std::span<const float> dvalues) {
  dlogits_in_.Put(0, dlogits);
  dvalues_in_.Put(0, dvalues);
}

void Stage::Backward(std::span<const float> parameters, const NumberedBlock& numbered, int steps,
                     const Stage* above) {
  const std::size_t row = RowOf(numbered.block), rows = Length(numbered.block.envs);
  if (above != nullptr) {
    const std::size_t width = part_.out_size();
    Pass(above->input_gradient_out_, output_gradient_in_, row * width, rows * width);
  }
  Repeat(blocks_ + numbered.number, [&] {
    part_.BackwardInput(WeightsIn(parameters), numbered.block, steps, Dlogits(steps),
                        Dvalues(steps));
  });
  const std::size_t width = part_.in_size();
  if (!part_.input_gradient().empty()) input_gradient_out_.Fetch(row * width, rows * width);
  memory_.Wait();
}

void Stage::Weights(std::span<const float> parameters, int steps, std::span<float> gradient) {
  Repeat(2 * blocks_, [&] {
    part_.BackwardWeights(WeightsIn(parameters), steps, Dlogits(steps), Dvalues(steps),
                          GradientIn(gradient));
  });
  gradient_out_.Fetch(0, gradient_.size());
  memory_.Wait();
}

std::size_t Stage::RowOf(const net::Block& block) const {
  return Length(block.step * batch_.envs + block.first);
}

std::span<const float> Stage::WeightsIn(std::span<const float> parameters) const {
  return weights_.size() > 0 ? weights_.span() : parameters.subspan(begin_, part_.layout().size());
}

std::span<float> Stage::GradientIn(std::span<float> gradient) {
  return gradient_.size() > 0 ? gradient_.span() : gradient.subspan(begin_, parameters());
}

std::span<const float> Stage::Dlogits(int steps) const {
  if (!has_heads_) return {};
  return dlogits_.span().first(Length(steps * batch_.envs * part_.outputs()));
}

std::span<const float> Stage::Dvalues(int steps) const {
  if (!has_heads_) return {};
  return dvalues_.span().first(Length(steps * batch_.envs));
}

void Stage::Repeat(int id, const std::function<void()>& ops) {
  if (2 * blocks_ >= kMaxGraphs) return ops();
  backend_.Repeat(id, ops);
}

}  // namespace starling::actors
