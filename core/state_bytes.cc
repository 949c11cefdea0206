#include "core/state_bytes.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "core/check.h"

namespace starling {
namespace {

constexpr std::uint32_t kFormat = 1;

struct Frame {
  std::array<char, 8> magic{'S', 'T', 'L', 'S', 'T', 'A', 'T', 'E'};
  std::uint32_t format = kFormat, zero = 0;
  std::uint64_t bytes = 0, hash = 0;
};
static_assert(sizeof(Frame) == kStateFrameBytes);

}  // namespace

void StateBytes::Raw(void* value, std::size_t size) {
  auto* const bytes = static_cast<std::byte*>(value);
  if (!reading()) {
    to_->insert(to_->end(), bytes, bytes + size);
    return;
  }
  if (size > left()) Fail("is too short");
  std::copy_n(from_.data() + at_, size, bytes);
  at_ += size;
}

void StateBytes::Tag(std::string_view tag) {
  CHECK(tag.size() == 4, "tag \"{}\"", tag);
  std::array<char, 4> found{};
  std::ranges::copy(tag, found.begin());
  Raw(found.data(), found.size());
  tag_ = tag;
  if (!std::ranges::equal(found, tag)) Fail("is of another kind, or of another version");
}

void StateBytes::Same(std::uint64_t value, std::string_view what) {
  std::uint64_t saved = value;
  Raw(&saved, sizeof saved);
  if (saved != value) Fail(fmt::format("has {} = {}, here it is {}", what, saved, value));
}

void StateBytes::Same(const std::string& value, std::string_view what) {
  std::vector<std::byte> saved(value.size());
  std::memcpy(saved.data(), value.data(), value.size());
  Bytes(saved);
  const std::string_view text(reinterpret_cast<const char*>(saved.data()), saved.size());
  if (text != value) Fail(fmt::format("has {} = \"{}\", here it is \"{}\"", what, text, value));
}

void StateBytes::Bytes(std::vector<std::byte>& bytes) {
  std::uint64_t size = bytes.size();
  (*this)(size, 0, reading() ? left() : size);
  bytes.resize(size);
  Raw(bytes.data(), size);
}

void StateBytes::End() const {
  if (reading() && left() > 0) {
    Fail(fmt::format("is too long by {} bytes", left()));
  }
}

void StateBytes::FailRange() const { Fail("holds a value that cannot be"); }

void StateBytes::Fail(const std::string& why) const {
  throw StateError(
      fmt::format("a saved state (component \"{}\") {}: it belongs to another "
                  "configuration or another version of Starling, or is damaged",
                  tag_, why));
}

void CloseStateFrame(std::vector<std::byte>& to, std::size_t begin) {
  const auto fields = std::span(to).subspan(begin + kStateFrameBytes);
  const Frame frame{.bytes = fields.size(), .hash = XXH64(fields.data(), fields.size(), 0)};
  std::memcpy(&to[begin], &frame, sizeof frame);
}

std::span<const std::byte> OpenStateFrame(std::span<const std::byte> state) {
  Frame frame;
  if (state.size() < sizeof frame) {
    throw StateError(fmt::format("a saved state of {} bytes is too short", state.size()));
  }
  std::memcpy(&frame, state.data(), sizeof frame);
  const auto fields = state.subspan(sizeof frame);
  if (frame.magic != Frame().magic) throw StateError("these bytes are no saved state");
  if (frame.format != kFormat) {
    throw StateError(fmt::format("a saved state has format {}, this Starling reads format {}",
                                 frame.format, kFormat));
  }
  if (frame.zero != 0 || frame.bytes != fields.size() ||
      frame.hash != XXH64(fields.data(), fields.size(), 0)) {
    throw StateError("a saved state is damaged: its length or its checksum is wrong");
  }
  return fields;
}

}  // namespace starling
