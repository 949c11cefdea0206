#include "monitor/screen/frame.h"

#include <algorithm>

namespace starling::monitor {

Area PlotOf(const Area& panel) {
  return {panel.x + kAxisColumns, panel.y + 1, panel.width - kAxisColumns, panel.height - 2};
}

void DrawTitle(Canvas& canvas, const Area& panel, std::string_view title, std::string_view newest) {
  const int room = panel.width - static_cast<int>(newest.size()) - 1;
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
