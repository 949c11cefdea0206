// The examples of protobuf.dev, "Encoding", byte by byte; and negative integers and floats.
#include "core/protobuf.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace starling {
namespace {

std::string Bytes(std::initializer_list<int> bytes) {
  std::string all;
  for (const int byte : bytes) all += static_cast<char>(byte);
  return all;
}

TEST(ProtobufTest, WritesIntegersAsVarints) {
  ProtobufMessage message;
  message.AddInteger(1, 150);
  EXPECT_EQ(message.bytes(), Bytes({0x08, 0x96, 0x01}));
  ProtobufMessage negative;
  negative.AddInteger(16, -2);
  EXPECT_EQ(negative.bytes(),
            Bytes({0x80, 0x01, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}));
}

TEST(ProtobufTest, WritesBytesAndMessagesBehindTheirLength) {
  ProtobufMessage text;
  text.AddBytes(2, "testing");
  EXPECT_EQ(text.bytes(), Bytes({0x12, 0x07}) + "testing");
  ProtobufMessage inner, outer;
  inner.AddInteger(1, 150);
  outer.AddMessage(3, inner);
  EXPECT_EQ(outer.bytes(), Bytes({0x1a, 0x03, 0x08, 0x96, 0x01}));
}

TEST(ProtobufTest, PacksRepeatedIntegers) {
  ProtobufMessage message;
  message.AddIntegers(6, std::array<std::int64_t, 3>{3, 270, 86942});
  EXPECT_EQ(message.bytes(), Bytes({0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05}));
}

TEST(ProtobufTest, WritesFloatsInLittleEndian) {
  ProtobufMessage message;
  message.AddFloat(1, 1.5f);
  message.AddDouble(2, -2.0);
  EXPECT_EQ(message.bytes(), Bytes({0x0d, 0, 0, 0xc0, 0x3f, 0x11, 0, 0, 0, 0, 0, 0, 0, 0xc0}));
}

}  // namespace
}  // namespace starling
