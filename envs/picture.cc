#include "envs/picture.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace starling::envs {
namespace {

constexpr int kSmallestPicture = 32;  // a side, of floats

constexpr Rgb kChannelColors[] = {
    {240, 240, 240},  // white
    {230, 159, 0},    // orange
    {86, 180, 233},   // sky blue
    {0, 158, 115},    // bluish green
    {240, 228, 66},   // yellow
    {213, 94, 0},     // vermilion
    {204, 121, 167},  // reddish purple
    {0, 114, 178},    // blue
    {148, 148, 158},  // grey
    {158, 218, 165},  // light green
    {150, 85, 50},    // brown
    {190, 174, 232},  // lavender
};
constexpr Rgb kLow{86, 180, 233}, kHigh{230, 159, 0};  // of a vector

// From `from` (share 0) to `to` (share 1).
Rgb Mixed(const Rgb& from, const Rgb& to, float share) {
  Rgb mixed{};
  for (std::size_t i = 0; i < 3; ++i) {
    const float a = from[i], b = to[i];
    mixed[i] = static_cast<std::uint8_t>(std::lrint(a + (b - a) * std::clamp(share, 0.0f, 1.0f)));
  }
  return mixed;
}

// The values of a frame, bytes or floats, relative to their bounds.
class Values {
 public:
  Values(const FrameSpec& spec, std::span<const std::uint8_t> bytes, std::span<const float> floats)
      : bytes_(spec.bytes ? bytes : std::span<const std::uint8_t>()),
        floats_(spec.bytes ? std::span<const float>() : floats),
        low_(spec.bytes ? 0 : spec.env.low),
        high_(spec.bytes ? 255 : spec.env.high) {
    const std::size_t size = spec.bytes ? bytes_.size() : floats_.size();
    CHECK(size == spec.env.row(), "{} values", size);
  }

  float operator[](int i) const { return bytes_.empty() ? floats_[i] : bytes_[i]; }
  // From 0, the lowest value, to 1, the highest.
  float Share(int i) const {
    const float value = (*this)[i];
    if (!std::isfinite(value)) return value > 0 ? 1 : 0;
    if (high_ - low_ < 1e6f) return (value - low_) / (high_ - low_);
    return 0.5f + 0.5f * value / (1 + std::abs(value));  // practically unbounded
  }
  // The brightness of a grid's cell; 0 for a value of zero, whatever the bounds.
  float Light(int i) const {
    const float value = std::abs((*this)[i]);
    if (!std::isfinite(value)) return 1;
    const float most = std::max(std::abs(low_), std::abs(high_));
    return most < 1e6f && most > 0 ? value / most : value / (1 + value);
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::span<const float> floats_;
  float low_, high_;
};

int FirstLit(const Values& values, int cell, int channels) {
  for (int channel = 0; channel < channels; ++channel) {
    if (values[cell * channels + channel] != 0) return channel;
  }
  return -1;
}

Rgb PictureColor(const Values& values, int cell, int channels) {
  Rgb color{};
  for (int i = 0; i < 3; ++i) {
    const float share = values.Share(channels == 1 ? cell : cell * 3 + i);
    color[i] = static_cast<std::uint8_t>(std::lrint(255 * std::clamp(share, 0.0f, 1.0f)));
  }
  return color;
}

Rgb GridColor(const Values& values, int cell, int channels) {
  const int lit = FirstLit(values, cell, channels);
  if (lit < 0) return kBackground;
  return Mixed(kBackground, ColorOfChannel(lit), values.Light(cell * channels + lit));
}

Rgb VectorColor(const Values& values, int cell) {
  const float share = values.Share(cell);
  return share < 0.5f ? Mixed(kBackground, kLow, 1 - 2 * share)
                      : Mixed(kBackground, kHigh, 2 * share - 1);
}

void Set(Image& image, int pixel, const Rgb& color) {
  std::ranges::copy(color, image.rgb.begin() + 3 * pixel);
}

auto FirstPicture(const FrameSpec& spec) {
  return std::ranges::find_if(spec.env.entries, &ObservationEntry::picture);
}

// The numbers of the first picture. REQUIRES: there is one.
std::span<const float> Painted(const FrameSpec& spec, std::span<const float> floats) {
  CHECK(floats.size() == spec.env.row(), "{} values", floats.size());
  const auto picture = FirstPicture(spec);
  std::size_t first = 0;
  for (auto entry = spec.env.entries.begin(); entry != picture; ++entry) first += entry->size();
  return floats.subspan(first, picture->size());
}

Image Blank(int width, int height) {
  CHECK(width >= 1 && height >= 1, "{} x {}", width, height);
  return {width, height, std::vector<std::uint8_t>(width * height * 3)};
}

}  // namespace

FrameSpec PaintedSpec(const FrameSpec& spec) {
  const auto entry = FirstPicture(spec);
  if (entry == spec.env.entries.end()) return spec;
  FrameSpec painted = spec;
  painted.env.height = entry->height, painted.env.width = entry->width;
  painted.env.channels = entry->channels;
  painted.env.low = entry->low, painted.env.high = entry->high;
  painted.env.entries.clear();
  painted.env.actions.masked = false;  // the mask is behind all entries
  return painted;
}

FrameKind KindOf(const FrameSpec& spec) {
  const EnvSpec env = PaintedSpec(spec).env;
  if (env.height * env.width == 1) return FrameKind::kVector;
  const bool colors = env.channels == 1 || env.channels == 3;
  const bool large = std::max(env.height, env.width) >= kSmallestPicture;
  return colors && (spec.bytes || large) ? FrameKind::kPicture : FrameKind::kGrid;
}

Rgb ColorOfChannel(int channel) { return kChannelColors[channel % std::size(kChannelColors)]; }

Image Paint(const FrameSpec& spec, std::span<const std::uint8_t> bytes,
            std::span<const float> floats) {
  if (FirstPicture(spec) != spec.env.entries.end()) {
    return Paint(PaintedSpec(spec), bytes, Painted(spec, floats));
  }
  const Values values(spec, bytes, floats);
  const FrameKind kind = KindOf(spec);
  const bool vector = kind == FrameKind::kVector;
  Image image = Blank(vector ? spec.env.channels : spec.env.width, spec.env.height);
  const int channels = spec.env.channels;
  for (int cell = 0; cell < image.width * image.height; ++cell) {
    Set(image, cell,
        vector                        ? VectorColor(values, cell)
        : kind == FrameKind::kPicture ? PictureColor(values, cell, channels)
                                      : GridColor(values, cell, channels));
  }
  return image;
}

Image Paint(const FrameEnvs& envs, int env) {
  return Paint(envs.spec(), envs.bytes(env), envs.floats(env));
}

std::vector<int> LitChannels(const FrameSpec& spec, std::span<const std::uint8_t> bytes,
                             std::span<const float> floats) {
  if (FirstPicture(spec) != spec.env.entries.end()) {
    return LitChannels(PaintedSpec(spec), bytes, Painted(spec, floats));
  }
  const Values values(spec, bytes, floats);
  std::vector<int> lit(spec.env.height * spec.env.width);
  int cell = 0;
  for (int& channel : lit) channel = FirstLit(values, cell++, spec.env.channels);
  return lit;
}

Image Enlarged(const Image& image, int scale, bool lines) {
  Image large = Blank(image.width * scale, image.height * scale);
  for (int row = 0; row < large.height; ++row) {
    for (int column = 0; column < large.width; ++column) {
      const bool line = lines && (row % scale == scale - 1 || column % scale == scale - 1);
      Set(large, row * large.width + column, line ? kLine : image.at(row / scale, column / scale));
    }
  }
  return large;
}

Image Shrunk(const Image& image, int factor) {
  Image small = Blank((image.width + factor - 1) / factor, (image.height + factor - 1) / factor);
  for (int row = 0; row < small.height; ++row) {
    for (int column = 0; column < small.width; ++column) {
      // The block [row * factor, bottom) x [column * factor, right) of `image`.
      const int bottom = std::min(image.height, (row + 1) * factor);
      const int right = std::min(image.width, (column + 1) * factor);
      int sum[3] = {}, count = 0;
      for (int y = row * factor; y < bottom; ++y) {
        for (int x = column * factor; x < right; ++x, ++count) {
          const Rgb color = image.at(y, x);
          for (std::size_t i = 0; i < 3; ++i) sum[i] += color[i];
        }
      }
      Rgb mean{};
      for (std::size_t i = 0; i < 3; ++i) {
        mean[i] = static_cast<std::uint8_t>((sum[i] + count / 2) / count);
      }
      Set(small, row * small.width + column, mean);
    }
  }
  return small;
}

}  // namespace starling::envs
