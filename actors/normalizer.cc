#include "actors/normalizer.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/array_fields.h"

namespace starling::actors {
namespace {

constexpr const char* kReturns = "returns.sums";

// A part of an observation: a picture, which has cells, or numbers, which have sums.
struct Seen {
  int width, cells;  // columns of a row; height x width of a picture, else 0
  std::string sums;  // their name, else ""
};

// A matrix is a picture if its values lie within [0, 1].
template <class Array>
Seen PartOf(const Array& array, int width, std::string sums) {
  const int cells = array.height * array.width;
  const bool picture = cells > 1 && array.low >= 0 && array.high <= 1;
  return picture ? Seen{width, cells, ""} : Seen{width, 0, std::move(sums)};
}

std::vector<Seen> PartsOf(const envs::EnvSpec& spec) {
  if (spec.entries.empty()) return {PartOf(spec, spec.obs_size(), "observations.sums")};
  std::vector<Seen> parts;
  for (std::size_t i = 0; i < spec.entries.size(); ++i) {
    const auto& entry = spec.entries[i];
    parts.push_back(
        PartOf(entry, entry.size(), fmt::format("observations.{}.{}.sums", i, entry.name)));
  }
  return parts;
}

}  // namespace

net::ParameterLayout WithSums(net::ParameterLayout net, const Config& config,
                              const envs::EnvSpec& spec) {
  if (config.env.normalize_observations) {
    for (const Seen& part : PartsOf(spec)) {
      if (!part.sums.empty()) net.Add(part.sums, {part.width, net::kSumsOfNumber});
    }
  }
  if (config.env.normalize_rewards) net.Add(kReturns, {1, net::kSumsOfNumber});
  return net;
}

Normalizer::Normalizer(const Config& config, const envs::EnvSpec& spec,
                       const net::ParameterLayout& layout, net::Backend<float>& backend,
                       const net::Batch& batch)
    : backend_(backend),
      batch_(batch),
      row_(static_cast<int>(spec.row())),
      gamma_(config.loss.gamma),
      trained_(layout.trained()),
      rows_(config.env.normalize_observations ? Size(batch.steps * batch.envs) * spec.row() : 0,
            backend.memory()),
      returns_(config.env.normalize_rewards ? Size(batch.steps * batch.envs) : 0,
               backend.memory()) {
  if (config.env.normalize_rewards) return_sums_ = &layout.Find(kReturns);
  if (!config.env.normalize_observations) return;
  int first = 0;
  for (const Seen& part : PartsOf(spec)) {
    columns_.push_back({.first = std::exchange(first, first + part.width),
                        .width = part.width,
                        .cells = part.cells,
                        .sums = part.sums.empty() ? nullptr : &layout.Find(part.sums)});
  }
  if (first < row_) columns_.push_back({first, row_ - first});  // the mask of the actions
}

void Normalizer::Standardize(std::span<const float> weights, const net::Block& block,
                             std::span<float> net) {
  if (columns_.empty()) return;
  const std::size_t at = Size(block.step * batch_.envs + block.first) * Size(row_);
  for (const Columns& columns : columns_) {
    const float* const from = &rows_.span()[at + Size(columns.first)];
    float* const to = &net[at + Size(columns.first)];
    if (columns.cells > 0) {
      backend_.StandardizePictures({.n = block.envs,
                                    .cells = columns.cells,
                                    .channels = columns.width / columns.cells,
                                    .from = from,
                                    .from_row = row_,
                                    .to = to,
                                    .to_row = row_});
    } else if (columns.sums != nullptr) {
      backend_.Standardize({.n = block.envs,
                            .width = columns.width,
                            .from = from,
                            .from_row = row_,
                            .sums = &weights[columns.sums->offset],
                            .to = to,
                            .to_row = row_});
    } else {
      backend_.CopyColumns({.n = block.envs,
                            .width = columns.width,
                            .from = from,
                            .from_row = row_,
                            .to = to,
                            .to_row = row_});
    }
  }
}

void Normalizer::Scale(std::span<const float> weights, const net::Block& block,
                       std::span<const std::uint8_t> resets, std::span<float> rewards) {
  if (return_sums_ == nullptr) return;
  backend_.ScaleRewards({.n = block.envs,
                         .gamma = gamma_,
                         .sums = &weights[return_sums_->offset],
                         .resets = resets.data(),
                         .before = &ReturnsAt(block.step)[Size(block.first)],
                         .now = &ReturnsAt(block.step + 1)[Size(block.first)],
                         .rewards = rewards.data()});
}

void Normalizer::Sum(int steps, int samples, std::span<float> to) {
  const int rows = steps * batch_.envs;
  const auto sum = [&](const net::Parameter& sums, int width, const float* x, int row) {
    backend_.SumMoments({.n = rows,
                         .width = width,
                         .x = x,
                         .row = row,
                         .factor = 1.0 / samples,
                         .to = &to[sums.offset - trained_]});
  };
  for (const Columns& columns : columns_) {
    if (columns.sums == nullptr) continue;
    sum(*columns.sums, columns.width, rows_.data() + columns.first, row_);
  }
  if (return_sums_ != nullptr) sum(*return_sums_, 1, ReturnsAt(1).data(), 1);
}

void Normalizer::Carry(int steps) {
  if (return_sums_ == nullptr) return;
  Copy<float>(backend_.memory(), ReturnsAt(0), ReturnsAt(steps));
}

void Normalizer::Fields(StateBytes& state) {
  if (return_sums_ != nullptr) ArrayFields(state, backend_.memory(), ReturnsAt(0));
}

}  // namespace starling::actors
