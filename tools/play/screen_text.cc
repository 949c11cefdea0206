#include "tools/play/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace starling::play {
namespace {

using envs::Image;
using envs::Rgb;

constexpr std::string_view kUpperHalf = "▀", kPlain = "\033[0m";

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the image enlarged by the largest whole factor that fits, or shrunk to fit.
Image Fitted(const Image& image, int width, int height) {
  const int grow = std::min(width / image.width, height / image.height);
  if (grow >= 1) return Enlarged(image, grow);
  const int across = (image.width + width - 1) / width;
  const int down = (image.height + height - 1) / height;
  return Shrunk(image, std::max(across, down));
}

int SquaredDistance(const Rgb& a, const Rgb& b) {
  int sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// Returns the nearest colour of the xterm palette: a cube of 6 x 6 x 6 from 16 on, 24 greys from
// 232 on.
int Nearest256(const Rgb& color) {
  constexpr int kLevels[6] = {0, 95, 135, 175, 215, 255};
  int index = 16;
  Rgb in_cube{};
  for (std::size_t i = 0; i < 3; ++i) {
    int nearest = 0;
    for (int level = 1; level < 6; ++level) {
      if (std::abs(kLevels[level] - color[i]) < std::abs(kLevels[nearest] - color[i])) {
        nearest = level;
      }
    }
    in_cube[i] = static_cast<std::uint8_t>(kLevels[nearest]);
    index += nearest * (i == 0 ? 36 : i == 1 ? 6 : 1);
  }
  const int mean = (color[0] + color[1] + color[2]) / 3;
  const int step = std::clamp((mean - 3) / 10, 0, 23);
  const auto grey = static_cast<std::uint8_t>(8 + 10 * step);
  return SquaredDistance(color, {grey, grey, grey}) < SquaredDistance(color, in_cube) ? 232 + step
                                                                                      : index;
}

// `place` is 38 for the foreground, 48 for the background.
std::string Code(int place, const Rgb& color, Palette palette) {
  if (palette == Palette::k24Bit) {
    return fmt::format("\033[{};2;{};{};{}m", place, color[0], color[1], color[2]);
  }
  return fmt::format("\033[{};5;{}m", place, Nearest256(color));
}

// Returns a character whose density is the brightness of a grey of 0 to 255.
char Density(int grey) {
  constexpr std::string_view kRamp = " .:-=+*#%@";
  return kRamp[(static_cast<std::size_t>(grey) * (kRamp.size() - 1) + 127) / 255];
}

int Grey(const Rgb& color) { return (299 * color[0] + 587 * color[1] + 114 * color[2]) / 1000; }

std::vector<std::string> DensityLines(const Image& image, int columns, int lines) {
  const Image fitted = Fitted(image, columns, 2 * lines);
  std::vector<std::string> text;
  for (int row = 0; row < fitted.height; row += 2) {
    std::string line;
    for (int column = 0; column < fitted.width; ++column) {
      const int below = std::min(row + 1, fitted.height - 1);
      line += Density((Grey(fitted.at(row, column)) + Grey(fitted.at(below, column))) / 2);
    }
    text.push_back(std::move(line));
  }
  return text;
}

// A cell is two characters wide, because lines are about twice as high as columns are wide.
std::vector<std::string> LetterLines(const envs::FrameEnvs& envs, int columns, int lines) {
  const envs::EnvSpec spec = PaintedSpec(envs.spec()).env;
  const std::vector<int> lit = LitChannels(envs.spec(), envs.bytes(0), envs.floats(0));
  const int scale = std::max(1, std::min(columns / (2 * spec.width), lines / spec.height));
  std::vector<std::string> text;
  for (int row = 0; row < spec.height * scale; ++row) {
    std::string line;
    for (int column = 0; column < spec.width; ++column) {
      const int channel = lit[static_cast<std::size_t>(row / scale * spec.width + column)];
      const char letter = channel < 0 ? '.' : static_cast<char>('a' + channel % 26);
      line += std::string(static_cast<std::size_t>(2 * scale), letter);
    }
    line.resize(std::min(line.size(), static_cast<std::size_t>(columns)));
    text.push_back(std::move(line));
  }
  text.resize(std::min(text.size(), static_cast<std::size_t>(lines)));
  return text;
}

}  // namespace

Palette DetectPalette(bool utf8) {
  if (!utf8 || !Environment("NO_COLOR").empty()) return Palette::kNone;
  const std::string_view colors = Environment("COLORTERM");
  return colors == "truecolor" || colors == "24bit" ? Palette::k24Bit : Palette::k256;
}

std::vector<std::string> ColorLines(const Image& image, Palette palette, int columns, int lines) {
  const Image fitted = Fitted(image, columns, 2 * lines);
  std::vector<std::string> text;
  for (int row = 0; row < fitted.height; row += 2) {
    std::string line, before, behind;  // the codes in force
    for (int column = 0; column < fitted.width; ++column) {
      const Rgb lower = row + 1 < fitted.height ? fitted.at(row + 1, column) : envs::kBackground;
      const std::string upper_code = Code(38, fitted.at(row, column), palette);
      const std::string lower_code = Code(48, lower, palette);
      if (upper_code != before) line += before = upper_code;
      if (lower_code != behind) line += behind = lower_code;
      line += kUpperHalf;
    }
    text.push_back(line += kPlain);
  }
  return text;
}

std::vector<std::string> PlainLines(const envs::FrameEnvs& envs, int columns, int lines) {
  if (KindOf(envs.spec()) == envs::FrameKind::kGrid) return LetterLines(envs, columns, lines);
  return DensityLines(Paint(envs, 0), columns, lines);
}

std::string LineScreen::Update(const std::vector<std::string>& lines, int columns, int rows) {
  std::string bytes;
  if (columns != columns_ || rows != rows_) {
    bytes = "\033[0m\033[2J";
    columns_ = columns;
    rows_ = rows;
    shown_.clear();
  }
  const std::size_t count =
      std::min(std::max(lines.size(), shown_.size()), static_cast<std::size_t>(std::max(0, rows)));
  shown_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& line = i < lines.size() ? lines[i] : std::string();
    if (line == shown_[i]) continue;
    bytes += fmt::format("\033[{};1H{}\033[K", i + 1, line);
    shown_[i] = line;
  }
  return bytes;
}

}  // namespace starling::play
