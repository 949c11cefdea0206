#include "monitor/screen/screen.h"

#include <algorithm>

namespace starling::monitor {
namespace {

constexpr std::string_view kOff = "\033[0m";

constexpr std::string_view kCodes[] = {"",         "\033[1m",  "\033[2m", "\033[32m",
                                       "\033[33m", "\033[31m", "\033[36m"};  // by Ink

void AppendUtf8(std::string& out, char32_t character) {
  const auto low = [&](int shift) {
    return static_cast<char>(0x80 | (static_cast<int>(character >> shift) & 0x3f));
  };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xc0 | static_cast<int>(character >> 6));
    out += low(0);
  } else {  // no character drawn here is above U+FFFF
    out += static_cast<char>(0xe0 | static_cast<int>(character >> 12));
    out += low(6);
    out += low(0);
  }
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(std::max(0, width)),
      height_(std::max(0, height)),
      cells_(static_cast<std::size_t>(width_ * height_)) {}

void Canvas::Put(int x, int y, char32_t character, Ink ink) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  cells_.begin()[y * width_ + x] = {character, ink};
}

void Canvas::Text(int x, int y, std::string_view text, Ink ink) {
  for (const char c : text) {
    Put(x++, y, c >= 0x20 && c < 0x7f ? static_cast<char32_t>(c) : U'?', ink);
  }
}

void Canvas::TextBefore(int right, int y, std::string_view text, Ink ink) {
  Text(right - ColumnsOf(text), y, text, ink);
}

std::vector<std::string> Canvas::Lines(bool color) const {
  std::vector<std::string> lines;
  for (int y = 0; y < height_; ++y) lines.push_back(Line(y, color));
  return lines;
}

std::string Canvas::Line(int y, bool color) const {
  const Cell* const row = cells_.data() + y * width_;
  int end = width_;
  while (end > 0 && row[end - 1].character == U' ') --end;
  std::string line;
  Ink now = Ink::kPlain;
  for (int x = 0; x < end; ++x) {
    const Ink wanted = row[x].character == U' ' ? now : row[x].ink;  // a space has no colour
    if (color && wanted != now) {
      if (now != Ink::kPlain) line += kOff;
      line += kCodes[static_cast<std::size_t>(wanted)];
      now = wanted;
    }
    AppendUtf8(line, row[x].character);
  }
  if (now != Ink::kPlain) line += kOff;
  return line;
}

// ---- the frame of a panel

Area PlotOf(const Area& panel) {
  return {panel.x + kAxisColumns, panel.y + 1, panel.width - kAxisColumns, panel.height - 2};
}

void DrawTitle(Canvas& canvas, const Area& panel, std::string_view title, std::string_view newest) {
  const int room = panel.width - ColumnsOf(newest) - 1;
  canvas.Text(panel.x, panel.y, title.substr(0, static_cast<std::size_t>(std::max(0, room))),
              Ink::kBold);
  canvas.TextBefore(panel.right(), panel.y, newest);
}

void DrawLeftAxis(Canvas& canvas, const Area& plot, const std::vector<Mark>& rows, bool utf8) {
  const int x = plot.x - 1;
  for (int y = plot.y; y < plot.bottom(); ++y) canvas.Put(x, y, utf8 ? U'│' : U'|', Ink::kDim);
  for (const Mark& mark : rows) {
    canvas.Put(x, mark.at, utf8 ? U'┤' : U'+', Ink::kDim);
    canvas.TextBefore(x, mark.at, mark.text.substr(0, kAxisColumns - 1), Ink::kDim);
  }
}

void DrawLowerAxis(Canvas& canvas, const Area& plot, const std::vector<Mark>& columns, bool utf8) {
  const int y = plot.bottom();
  canvas.Put(plot.x - 1, y, utf8 ? U'└' : U'+', Ink::kDim);
  for (int x = plot.x; x < plot.right(); ++x) canvas.Put(x, y, utf8 ? U'─' : U'-', Ink::kDim);
  for (const Mark& mark : columns) canvas.Text(mark.at, y, mark.text, Ink::kDim);
}

}  // namespace starling::monitor
