// How wide a line of text is on a terminal.
#pragma once

#include <cstddef>
#include <string>

namespace starling::monitor {

// Columns of a line of one-column characters and colours.
inline int Columns(const std::string& line) {
  int columns = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033') {
      i = line.find('m', i);
    } else if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

}  // namespace starling::monitor
