// The screen of a terminal after the bytes it was sent: text, \r, \n, and of the escape codes those
// that move the cursor up, clear and colour. Anything else fails the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace starling {

class FakeTerminal {
 public:
  FakeTerminal(int columns, int rows)
      : columns_(columns), screen_(static_cast<std::size_t>(rows), Row(Size(columns), " ")) {}

  void Feed(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char c = bytes[i];
      if (c == '\r') {
        x_ = 0;
      } else if (c == '\n') {
        x_ = 0;  // as terminals are set: a new line begins at the left
        Down();
      } else if (c == '\033') {
        const std::size_t end = bytes.find_first_not_of("[0123456789;?", i + 1);
        ASSERT_NE(end, std::string_view::npos) << "a torn code";
        Code(bytes.substr(i + 1, end - i));
        i = end;
      } else {
        std::size_t end = i + 1;
        while (end < bytes.size() && (static_cast<unsigned char>(bytes[end]) & 0xc0) == 0x80) ++end;
        Put(std::string(bytes.substr(i, end - i)));
        i = end - 1;
      }
    }
  }

  // The lines of the screen without spaces at their ends, and without empty ones at its end.
  std::vector<std::string> Lines() const { return Texts(screen_); }
  // Likewise the lines that have scrolled out above it.
  std::vector<std::string> Scrolled() const { return Texts(scrolled_); }
  // Both, each line with its \n.
  std::string All() const {
    std::string text;
    for (const auto& lines : {Scrolled(), Lines()}) {
      for (const std::string& line : lines) text += line + '\n';
    }
    return text;
  }
  bool plain() const { return plain_; }  // the next character has no colour
  int cursor_column() const { return x_; }

 private:
  using Row = std::vector<std::string>;  // a character each
  static std::size_t Size(int size) { return static_cast<std::size_t>(size); }

  void Put(const std::string& character) {
    if (x_ == columns_) {
      x_ = 0;
      Down();
    }
    screen_[y_][Size(x_++)] = character;
  }

  void Down() {
    if (y_ + 1 < screen_.size()) {
      ++y_;
      return;
    }
    scrolled_.push_back(screen_.front());
    screen_.erase(screen_.begin());
    screen_.emplace_back(Size(columns_), " ");
  }

  void Code(std::string_view code) {
    const std::string number(code.substr(1, code.size() - 2));
    if (code.back() == 'm') {
      plain_ = number == "0";
    } else if (code.back() == 'A') {
      y_ -= std::min(y_, static_cast<std::size_t>(std::atoi(number.c_str())));
    } else if (code == "[K") {
      ClearFrom(y_, x_);
    } else if (code == "[J") {
      ClearFrom(y_, x_);
      for (std::size_t y = y_ + 1; y < screen_.size(); ++y) ClearFrom(y, 0);
    } else {
      ADD_FAILURE() << "the code " << code;
    }
  }

  void ClearFrom(std::size_t y, int x) {
    std::fill(screen_[y].begin() + std::min(x, columns_), screen_[y].end(), " ");
  }

  static std::vector<std::string> Texts(const std::vector<Row>& rows) {
    std::vector<std::string> texts;
    for (const Row& row : rows) {
      std::string text;
      for (const std::string& character : row) text += character;
      text.erase(text.find_last_not_of(' ') + 1);
      texts.push_back(text);
    }
    while (!texts.empty() && texts.back().empty()) texts.pop_back();
    return texts;
  }

  const int columns_;
  std::vector<Row> screen_, scrolled_;
  int x_ = 0;
  std::size_t y_ = 0;
  bool plain_ = true;
};

}  // namespace starling
