// The state of an object as bytes. The object lists its fields once, for both directions:
//
//   template <class State>
//   void Fields(State& state) {
//     state(ball_row, 0, kRows - 1);  // a number and the values that it may have
//     state(stream);                  // an object with fields of its own
//   }
//
// SaveState writes the fields, RestoreState reads them back and checks every one, so that bytes
// from elsewhere can make no state that could not have been saved.
//
// A saved state (little-endian):  magic "STLSTATE", u32 format version, u32 zero, u64 bytes of the
//                                 fields, u64 XXH64 of them, the fields without gaps
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace starling {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

// Bytes that are no state of this object, or a state that cannot be saved: a whole sentence.
class StateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class StateBytes {
 public:
  // Appends fields to `to`.
  explicit StateBytes(std::vector<std::byte>& to) : to_(&to) {}
  // Reads fields from `from`. Every function then throws StateError if the bytes do not fit.
  explicit StateBytes(std::span<const std::byte> from) : from_(from) {}

  bool reading() const { return to_ == nullptr; }

  // Begins the fields of a component: four letters that are the same in both directions.
  void Tag(std::string_view tag);
  // A number or name that must be the same in the object and in the bytes; errors call it `what`.
  void Same(std::uint64_t value, std::string_view what);
  void Same(const std::string& value, std::string_view what);

  template <class T>
  requires(!std::is_array_v<T>) void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t bit = value ? 1 : 0;
      (*this)(bit, 0, 1);
      value = bit == 1;
    } else if constexpr (std::is_arithmetic_v<T>) {
      Raw(&value, sizeof value);
    } else {
      value.Fields(*this);
    }
  }
  // A whole number that lies within [low, high].
  template <std::integral T, std::integral Low, std::integral High>
  void operator()(T& value, Low low, High high) {
    T number = value;
    Raw(&number, sizeof number);
    if (std::cmp_less(number, low) || std::cmp_greater(number, high)) FailRange();
    value = number;
  }
  template <class E>
  requires std::is_enum_v<E>
  void operator()(E& value, E low, E high) {
    auto number = static_cast<std::underlying_type_t<E>>(value);
    (*this)(number, static_cast<decltype(number)>(low), static_cast<decltype(number)>(high));
    value = static_cast<E>(number);
  }
  template <class T, std::size_t n, class... Range>
  void operator()(T (&values)[n], Range... range) {
    for (T& value : values) (*this)(value, range...);
  }
  template <class T, std::size_t n>
  void operator()(std::array<T, n>& values) {
    for (T& value : values) (*this)(value);
  }

  // Numbers of which any value is legal; their count is not saved.
  template <class T>
  void Array(std::span<T> values) {
    static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>);
    Raw(values.data(), values.size_bytes());
  }
  // A list with its length. Each element is passed to `element`, which saves a byte or more.
  template <class T, class Element>
  void List(std::vector<T>& values, Element element) {
    std::uint64_t size = values.size();
    (*this)(size, 0, reading() ? left() : size);
    values.resize(size);
    for (T& value : values) element(value);
  }
  // Bytes with their number.
  void Bytes(std::vector<std::byte>& bytes);

  // Throws if bytes are left over.
  void End() const;

 private:
  std::size_t left() const { return from_.size() - at_; }
  void Raw(void* value, std::size_t size);
  [[noreturn]] void FailRange() const;
  [[noreturn]] void Fail(const std::string& why) const;

  std::vector<std::byte>* to_ = nullptr;
  std::span<const std::byte> from_{};
  std::size_t at_ = 0;  // bytes of from_ already read
  std::string tag_{};   // of the component under way
};

inline constexpr std::size_t kStateFrameBytes = 32;
// Writes the frame of the fields that begin at to[begin + kStateFrameBytes] and end `to`.
void CloseStateFrame(std::vector<std::byte>& to, std::size_t begin);
// Returns the fields. Throws StateError if `state` is not one whole saved state.
std::span<const std::byte> OpenStateFrame(std::span<const std::byte> state);

// Appends the state of `object` to `to`, or, if it throws, nothing. Changes nothing in the object.
template <class Object>
void SaveState(Object& object, std::vector<std::byte>& to) {
  const std::size_t begin = to.size();
  to.resize(begin + kStateFrameBytes);
  StateBytes fields(to);
  try {
    object.Fields(fields);
  } catch (...) {
    to.resize(begin);
    throw;
  }
  CloseStateFrame(to, begin);
}

// Puts `object` into the saved state `state`. Throws StateError if it is not that of such an
// object; the object's state is then undetermined, but one that it could have.
template <class Object>
void RestoreState(Object& object, std::span<const std::byte> state) {
  StateBytes fields(OpenStateFrame(state));
  object.Fields(fields);
  fields.End();
}

}  // namespace starling
