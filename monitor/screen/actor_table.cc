#include "monitor/screen/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "core/text.h"

namespace starling::monitor {
namespace {

// A column of the table: its head, its width, and whether a narrow table has it.
struct Column {
  std::string_view head;
  int width;
  bool narrow;
};
constexpr std::array<Column, 7> kColumns{{{"actor", 5, true},
                                          {"state", 9, true},
                                          {"version", 10, true},
                                          {"lag", 6, true},
                                          {"steps/s", 8, true},
                                          {"waits", 6, false},
                                          {"restarts", 9, true}}};
constexpr int WidthOf(bool narrow) {
  int width = 0;
  for (const Column& column : kColumns) width += narrow && !column.narrow ? 0 : column.width;
  return width;
}
static_assert(WidthOf(false) == kTableColumns && WidthOf(true) == kNarrowTableColumns);

Ink InkOf(ActorRow::State state) {
  if (state == ActorRow::State::kAlive) return Ink::kPlain;
  return state == ActorRow::State::kStarting ? Ink::kWarn : Ink::kBad;
}

// All digits while they fit, then three.
std::string Number(std::uint64_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return text.size() <= width ? text : HumanCount(static_cast<double>(number));
}

struct Field {
  std::string text;
  Ink ink = Ink::kPlain;
};
using Fields = std::array<Field, kColumns.size()>;

Fields FieldsOf(const ActorRow& row) {
  const auto known = [&](std::string text) { return row.version ? std::move(text) : "-"; };
  return {{{std::to_string(row.slot)},
           {std::string(NameOf(row.state)), InkOf(row.state)},
           {known(Number(row.version.value_or(0), 9))},
           {known(Number(row.lag, 5))},
           {row.steps_per_second ? HumanCount(*row.steps_per_second) : "-"},
           {row.waiting ? fmt::format("{:.0f} %", 100 * *row.waiting) : "-"},
           {std::to_string(row.restarts), row.restarts > 0 ? Ink::kWarn : Ink::kPlain}}};
}

// The state is aligned left, the numbers right.
void DrawFields(Canvas& canvas, int x, int y, const Fields& fields, bool narrow) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (narrow && !kColumns[i].narrow) continue;
    const int right = x + kColumns[i].width;
    if (i == 1) {
      canvas.Text(x + 1, y, fields[i].text, fields[i].ink);
    } else {
      canvas.TextBefore(right, y, fields[i].text, fields[i].ink);
    }
    x = right;
  }
}

Fields Heads() {
  Fields heads;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    heads[i] = {std::string(kColumns[i].head), i == 0 ? Ink::kBold : Ink::kDim};
  }
  return heads;
}

double MedianSpeed(const std::vector<ActorRow>& rows) {
  std::vector<double> speeds;
  for (const ActorRow& row : rows) {
    if (row.steps_per_second) speeds.push_back(*row.steps_per_second);
  }
  if (speeds.empty()) return 0;
  const auto middle = speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2);
  std::nth_element(speeds.begin(), middle, speeds.end());
  return *middle;
}

}  // namespace

std::string Others(std::span<const ActorRow> rows) {
  std::array<int, 4> states{};
  std::optional<double> least, most;
  for (const ActorRow& row : rows) {
    ++states[static_cast<std::size_t>(row.state)];
    if (!row.steps_per_second) continue;
    const double speed = *row.steps_per_second;
    least = std::min(least.value_or(speed), speed);
    most = std::max(most.value_or(speed), speed);
  }
  std::string text = fmt::format("and {} more:", rows.size());
  const char* between = " ";
  for (std::size_t state = 0; state < states.size(); ++state) {
    if (states[state] == 0) continue;
    text +=
        fmt::format("{}{} {}", between, states[state], NameOf(static_cast<ActorRow::State>(state)));
    between = ", ";
  }
  if (most) text += fmt::format(", {} to {} steps/s", HumanCount(*least), HumanCount(*most));
  return text;
}

int TablesAbreast(int columns) {
  return std::max(1, (columns + kTableGap) / (kTableColumns + kTableGap));
}

std::vector<ActorRow> InOrder(std::vector<ActorRow> rows, std::size_t room) {
  if (rows.size() <= room) return rows;
  const double slow = MedianSpeed(rows) / 2;
  const auto rank = [&](const ActorRow& row) {
    const double speed = row.steps_per_second.value_or(slow);
    return std::tuple(row.state, std::min(speed, slow), row.slot);
  };
  std::sort(rows.begin(), rows.end(),
            [&](const ActorRow& a, const ActorRow& b) { return rank(a) < rank(b); });
  return rows;
}

void DrawActorTable(Canvas& canvas, const Area& area, const std::vector<ActorRow>& rows,
                    bool utf8) {
  // 1. Choose how many tables stand side by side, and how many rows they show.
  const int most_abreast = TablesAbreast(area.width), body = area.height - 1;
  if (body < 1) return;
  const int count = static_cast<int>(rows.size());
  const int needed = (count + body - 1) / body;
  const int abreast = std::clamp(needed, 1, most_abreast);
  const bool narrow = area.width < kTableColumns;
  const bool all = count <= abreast * body;
  const int shown = all ? count : abreast * (body - 1);

  // 2. Draw them.
  const std::vector<ActorRow> ordered = InOrder(rows, static_cast<std::size_t>(shown));
  const int down = all ? body : body - 1;
  for (int table = 0; table < abreast; ++table) {
    const int x = area.x + table * (kTableColumns + kTableGap);
    DrawFields(canvas, x, area.y, Heads(), narrow);
    for (int line = 0; line < down; ++line) {
      const int at = table * down + line;
      if (at >= shown) break;
      DrawFields(canvas, x, area.y + 1 + line, FieldsOf(ordered.begin()[at]), narrow);
    }
  }
  if (all) return;

  // 3. Sum up the rows that have no room.
  int x = area.x + 1;
  const std::string others = Others(std::span(ordered).subspan(static_cast<std::size_t>(shown)));
  if (utf8) canvas.Put(x++, area.bottom() - 1, U'…', Ink::kDim);
  canvas.Text(x + (utf8 ? 1 : 0), area.bottom() - 1, utf8 ? others : "..." + others, Ink::kDim);
}

}  // namespace starling::monitor
