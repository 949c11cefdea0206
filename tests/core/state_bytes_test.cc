#include "core/state_bytes.h"

#include <gmock/gmock.h>

#include "core/random.h"
#include "tests/support/error_of.h"

namespace starling {
namespace {

using testing::HasSubstr;

enum class Colour : std::uint8_t { kRed, kGreen };

// One field of each kind.
struct All {
  int number = 3;
  bool flag = true;
  Colour colour = Colour::kGreen;
  std::int8_t small[3] = {1, -2, 3};
  std::vector<std::uint16_t> list = {7, 8};
  std::vector<std::byte> blob = {std::byte{5}};
  std::vector<float> row = {1, 2};
  RandomStream stream{StreamId{.seed = 4}};
  std::uint64_t shape = 6;

  template <class State>
  void Fields(State& state) {
    state.Tag("allk");
    state.Same(shape, "shapes");
    state.Same(std::string("x"), "name");
    state(number, 0, 9);
    state(flag);
    state(colour, Colour::kRed, Colour::kGreen);
    state(small, -3, 3);
    state.List(list, [&](std::uint16_t& value) { state(value, 0, 9); });
    state.Bytes(blob);
    state.Array(std::span(row));
    state(stream);
  }
};

std::vector<std::byte> Saved(All all) {
  std::vector<std::byte> bytes;
  SaveState(all, bytes);
  return bytes;
}

TEST(StateBytes, EveryKindOfFieldComesBack) {
  const All saved;
  const auto bytes = Saved(saved);
  All other{.number = 0, .flag = false, .colour = Colour::kRed};
  other.small[1] = 0;
  other.list = {1};
  other.blob.clear();
  other.row = {0, 0};
  other.stream.Bits();
  RestoreState(other, bytes);
  EXPECT_EQ(Saved(other), bytes);
  EXPECT_EQ(other.stream, saved.stream);
  EXPECT_EQ(other.list, saved.list);
}

TEST(StateBytes, IsAppended) {
  std::vector<std::byte> bytes(5, std::byte{1});
  All all;
  SaveState(all, bytes);
  EXPECT_EQ(std::vector(bytes.begin() + 5, bytes.end()), Saved({}));
}

TEST(StateBytes, OfAnObjectThatThrowsIsNothing) {
  std::vector<std::byte> bytes(5);
  All wrong{.number = 10};
  EXPECT_THROW(SaveState(wrong, bytes), StateError);
  EXPECT_EQ(bytes.size(), 5u);
}

TEST(StateBytes, RefusesAValueOutOfItsRange) {
  const auto refuse = [](const All& forged) {
    All all;
    return ErrorOf<StateError>([&] { RestoreState(all, Saved(forged)); });
  };
  std::vector<All> forged(3);
  forged[0].list = {7, 10};
  forged[1].number = -1;
  forged[2].row = {1, 2, 3};  // longer than the reader's
  for (const All& all : forged) EXPECT_THAT(refuse(all), HasSubstr("\"allk\"")) << refuse(all);
  EXPECT_THAT(refuse({.shape = 7}), HasSubstr("has shapes = 7, here it is 6"));
  // The byte of each field that has a range: number, flag, colour, small.
  const auto begin = kStateFrameBytes + 4 + 8 + 8 + 1;
  for (const std::size_t at : {begin, begin + 4, begin + 5, begin + 6}) {
    auto bytes = Saved({});
    bytes[at] = std::byte{77};
    CloseStateFrame(bytes, 0);
    All all;
    EXPECT_THAT(ErrorOf<StateError>([&] { RestoreState(all, bytes); }),
                HasSubstr("holds a value that cannot be"))
        << at;
  }
}

TEST(StateBytes, NamesADifferentFormat) {
  auto bytes = Saved({});
  bytes[8] = std::byte{9};
  EXPECT_THAT(ErrorOf<StateError>([&] { OpenStateFrame(bytes); }),
              HasSubstr("has format 9, this Starling reads format 1"));
  bytes[0] = std::byte{9};
  EXPECT_THAT(ErrorOf<StateError>([&] { OpenStateFrame(bytes); }), HasSubstr("no saved state"));
}

}  // namespace
}  // namespace starling
