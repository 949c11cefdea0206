// The stand-ins of the build without libraries, compared with the libraries.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bench/bare/libraries.h"

namespace starling::bare {
namespace {

template <class... Args>
std::string Ours(std::string_view pattern, const Args&... args) {
  const std::array<Value, sizeof...(args)> values = {ValueOf(args)...};
  return Format(pattern, values);
}

template <class... Args>
void ExpectSame(const std::string& pattern, const Args&... args) {
  EXPECT_EQ(Ours(pattern, args...), fmt::format(fmt::runtime(pattern), args...)) << pattern;
}

TEST(BareFormatTest, TextAndWholeNumbersAsFmt) {
  ExpectSame("");
  ExpectSame("no braces");
  ExpectSame("{{{}}} {{}}", 5);
  ExpectSame("{} {} {} {} {}", -5, 7u, 'c', true, std::string("s"));
  ExpectSame("{}", std::numeric_limits<long long>::min());
  ExpectSame("{}", std::numeric_limits<unsigned long long>::max());
  for (const char* pattern : {"{:5}|", "{:<5}|", "{:>5}|", "{:^5}|", "{:*^6}|", "{:05}|", "{:x}|",
                              "{:X}|", "{:016x}|", "{:d}|"}) {
    ExpectSame(pattern, 171);
    ExpectSame(pattern, 0);
  }
  ExpectSame("{:05}", -17);
  for (const char* pattern : {"{:5}|", "{:<5}|", "{:>5}|", "{:^6}|", "{:s}|", "{:.2}|", "{:1}|"}) {
    ExpectSame(pattern, "word");
  }
}

TEST(BareFormatTest, RealNumbersAsFmt) {
  std::vector<double> numbers = {0,     -0.0, 1,    0.1,   2.5,  -12.75,  100000, 1e15, 1e16,
                                 123e9, 1e-4, 1e-5, 1e-30, 1e30, 2.0 / 3, 1e5,    0.5,  9.995};
  for (const double number : numbers) {
    for (const char* pattern : {"{}", "{:.0f}", "{:.2f}", "{:f}", "{:e}", "{:.3e}", "{:g}",
                                "{:.2g}", "{:10.1f}|", "{:<10.1f}|", "{:.3}"}) {
      ExpectSame(pattern, number);
      ExpectSame(pattern, static_cast<float>(number));
    }
  }
  ExpectSame("{:08.2f}", -3.14159);
  ExpectSame("{} {} {:.2f} {}", INFINITY, -INFINITY, INFINITY, NAN);
}

TEST(BareFormatTest, AMistakeIsSeen) {
  EXPECT_EQ(Ours("{} {}", 1), "1 {?}");
  EXPECT_EQ(Ours("{:5q7}", 1), "{?}");
  EXPECT_EQ(Ours("{", 1), "1");
}

TEST(BareXxh64Test, KnownAnswers) {
  EXPECT_EQ(Xxh64("", 0, 0), 0xEF46DB3751D8E999u);
  EXPECT_EQ(Xxh64("a", 1, 0), 0xD24EC4F1A98C6E5Bu);
}

TEST(BareXxh64Test, AsTheLibraryForEveryLengthAroundItsBlocks) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    for (const std::uint64_t seed : {0ull, 12345678901234567ull}) {
      EXPECT_EQ(Xxh64(text.data(), text.size(), seed), XXH64(text.data(), text.size(), seed)) << i;
    }
    text += static_cast<char>(i * 37 + i / 7);
  }
}

}  // namespace
}  // namespace starling::bare
