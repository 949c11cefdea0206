#include "envs/wrappers/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/error.h"

namespace starling::envs {
namespace {

// The grey of equal brightness (luma weights of ITU-R BT.601).
std::uint8_t Grey(const std::uint8_t* rgb) {
  const float luma = 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
  return static_cast<std::uint8_t>(std::lrint(luma));
}

// Channels differ: the first is white, the last a quarter as bright.
float Brightness(int channel, int channels) {
  if (channels == 1) return 1;
  return 1 - 0.75f * static_cast<float>(channel) / static_cast<float>(channels - 1);
}

}  // namespace

Screen::Screen(const FrameSpec& spec, bool pixels)
    : raw_(spec.env), observed_(spec.env), pixels_(pixels) {
  if (spec.bytes) observed_.low = 0, observed_.high = 1;
  if (!pixels) return;
  // Pictures can be shrunk and grids can be drawn; nothing else becomes pixels.
  const bool picture = spec.bytes && (raw_.channels == 1 || raw_.channels == 3);
  const bool fits = spec.bytes ? picture && raw_.height >= kSide && raw_.width >= kSide
                               : raw_.height > 1 && raw_.height <= kSide && raw_.width <= kSide &&
                                     raw_.low >= 0 && raw_.high <= 1;
  if (!fits) {
    throw UserError(
        fmt::format("env.pixels draws grids of values from 0 to 1 and shrinks pictures to {0} x "
                    "{0}, but {1} observes ({2}, {3}, {4}) from {5} to {6}: leave env.pixels out",
                    kSide, raw_.name, raw_.height, raw_.width, raw_.channels, raw_.low, raw_.high),
        "env.pixels");
  }
  observed_.height = observed_.width = kSide;
  observed_.channels = 1;
  observed_.low = 0;
  observed_.high = 1;
  if (!spec.bytes) return;
  shrink_.emplace(raw_.height, raw_.width, kSide, kSide);
  grey_.resize(raw_.height * raw_.width);
  small_.resize(kSide * kSide);
}

void Screen::Show(std::span<const std::uint8_t> bytes, float* out) {
  CHECK(bytes.size() == raw_.row(), "{} bytes", bytes.size());
  std::span<const std::uint8_t> shown = bytes;
  if (pixels_) {
    if (raw_.channels == 3) {
      for (std::size_t i = 0; i < grey_.size(); ++i) grey_[i] = Grey(&bytes[3 * i]);
      shown = grey_;
    }
    (*shrink_)(shown, small_);
    shown = small_;
  }
  for (std::size_t i = 0; i < shown.size(); ++i) out[i] = shown[i] / 255.0f;
}

void Screen::Show(std::span<const float> floats, float* out) const {
  CHECK(floats.size() == raw_.row(), "{} floats", floats.size());
  const bool drawn = raw_.height == kSide && raw_.width == kSide && raw_.channels == 1;
  if (pixels_ && !drawn) {
    Draw(floats, out);
  } else {
    std::ranges::copy(floats, out);
  }
}

void Screen::Draw(std::span<const float> grid, float* out) const {
  const int cell = kSide / std::max(raw_.height, raw_.width);
  const int top = (kSide - cell * raw_.height) / 2, left = (kSide - cell * raw_.width) / 2;
  std::fill_n(out, kSide * kSide, 0.0f);
  for (int row = 0; row < raw_.height; ++row) {
    for (int column = 0; column < raw_.width; ++column) {
      const float* lit = grid.data() + (row * raw_.width + column) * raw_.channels;
      const float* channel = std::find_if(lit, lit + raw_.channels, [](float v) { return v != 0; });
      if (channel == lit + raw_.channels) continue;
      const float grey = *channel * Brightness(static_cast<int>(channel - lit), raw_.channels);
      for (int y = 0; y < cell; ++y) {
        std::fill_n(out + (top + row * cell + y) * kSide + left + column * cell, cell, grey);
      }
    }
  }
}

}  // namespace starling::envs
