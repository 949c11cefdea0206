#include "wire/fields.h"

#include <concepts>
#include <cstdint>
#include <exception>
#include <limits>
#include <msgpack.hpp>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/check.h"

namespace starling::wire {
namespace {

template <class T>
concept IsNumber = std::integral<T> || std::floating_point<T>;
template <class T>
concept IsEnum = std::is_enum_v<T>;

struct StringSink {
  std::string& out;
  void write(const char* data, std::size_t size) { out.append(data, size); }
};

class Counter {
 public:
  void operator()(auto&&...) { ++count_; }
  std::uint32_t count() const { return count_; }

 private:
  std::uint32_t count_ = 0;
};

class Packer {
 public:
  explicit Packer(std::string& out) : sink_{out}, pack_(sink_) {}

  void Map(std::uint32_t entries) { pack_.pack_map(entries); }

  void operator()(std::string_view key, const IsNumber auto& value) {
    Key(key);
    Value(value);
  }
  void operator()(std::string_view key, const std::string& value, std::size_t limit) {
    CHECK(value.size() <= limit, "{} of {} bytes", key, value.size());
    Key(key);
    Value(value);
  }
  void operator()(std::string_view key, const IsEnum auto& value, std::size_t limit) {
    const auto number = static_cast<std::uint64_t>(value);
    CHECK(number < limit, "{} {}", key, number);
    Key(key);
    pack_.pack(number);
  }
  template <class T>
  void operator()(std::string_view key, const std::vector<T>& values, std::size_t limit) {
    CHECK(values.size() <= limit, "{} {}", values.size(), key);
    Key(key);
    pack_.pack_array(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) {
      std::apply(
          [this](const auto&... members) {
            pack_.pack_array(sizeof...(members));
            (Value(members), ...);
          },
          Members(value));
    }
  }

 private:
  void Value(std::string_view text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    pack_.pack_str(size);
    pack_.pack_str_body(text.data(), size);
  }
  void Key(std::string_view key) { Value(key); }
  void Value(std::integral auto value) { pack_.pack(value); }
  void Value(const std::vector<std::int64_t>& shape) {
    CHECK(shape.size() <= kMaxDimensions, "{} dimensions", shape.size());
    pack_.pack(shape);
  }
  void Value(Outcome outcome) { pack_.pack(static_cast<std::uint64_t>(outcome)); }
  // The library packs whole reals as integers, and 2^64, which is no 64-bit integer, too. The
  // largest integer reads back as the same double.
  void Value(double value) {
    if (value == 0x1p64) {
      pack_.pack(std::numeric_limits<std::uint64_t>::max());
    } else {
      pack_.pack(value);
    }
  }

  StringSink sink_;
  msgpack::packer<StringSink> pack_;
};

using msgpack::type::object_type;

bool Get(const msgpack::object& object, std::uint64_t& out) {
  if (object.type != object_type::POSITIVE_INTEGER) return false;
  out = object.via.u64;
  return true;
}
bool Get(const msgpack::object& object, std::uint32_t& out) {
  std::uint64_t wide = 0;
  if (!Get(object, wide) || !std::in_range<std::uint32_t>(wide)) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}
bool Get(const msgpack::object& object, std::int64_t& out) {
  if (object.type == object_type::NEGATIVE_INTEGER) {
    out = object.via.i64;
    return true;
  }
  std::uint64_t wide = 0;
  if (!Get(object, wide) || !std::in_range<std::int64_t>(wide)) return false;
  out = static_cast<std::int64_t>(wide);
  return true;
}
// Accepts integers: msgpack packs 3.0 as 3, as other implementations do.
bool Get(const msgpack::object& object, double& out) {
  switch (object.type) {
    case object_type::FLOAT32:
    case object_type::FLOAT64:
      out = object.via.f64;
      return true;
    case object_type::POSITIVE_INTEGER:
      out = static_cast<double>(object.via.u64);
      return true;
    case object_type::NEGATIVE_INTEGER:
      out = static_cast<double>(object.via.i64);
      return true;
    default:
      return false;
  }
}
bool Get(const msgpack::object& object, std::string& out) {
  if (object.type != object_type::STR || object.via.str.size > kMaxTextBytes) return false;
  out.assign(object.via.str.ptr, object.via.str.size);
  return true;
}
bool Get(const msgpack::object& object, std::vector<std::int64_t>& out) {
  if (object.type != object_type::ARRAY || object.via.array.size > kMaxDimensions) return false;
  out.resize(object.via.array.size);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!Get(object.via.array.ptr[i], out[i])) return false;
  }
  return true;
}
bool Get(const msgpack::object& object, Outcome& out) {
  std::uint64_t number = 0;
  if (!Get(object, number) || number >= kOutcomes) return false;
  out = static_cast<Outcome>(number);
  return true;
}
// An item of a list, as an array of its members.
template <class Item>
requires requires(Item& item) { Members(item); }
bool Get(const msgpack::object& object, Item& out) {
  return std::apply(
      [&](auto&... members) {
        if (object.type != object_type::ARRAY || object.via.array.size != sizeof...(members)) {
          return false;
        }
        const msgpack::object* next = object.via.array.ptr;
        return (Get(*next++, members) && ...);
      },
      Members(out));
}

// Reads members from a map. After the first failure it stays failed.
class Unpacker {
 public:
  explicit Unpacker(const msgpack::object_map& map) : map_(map) {}
  bool ok() const { return ok_; }

  void operator()(std::string_view key, IsNumber auto& value) {
    const msgpack::object* object = Find(key);
    ok_ = ok_ && object != nullptr && Get(*object, value);
  }
  void operator()(std::string_view key, std::string& value, std::size_t limit) {
    const msgpack::object* object = Find(key);
    ok_ = ok_ && object != nullptr && object->type == object_type::STR &&
          object->via.str.size <= limit;
    if (ok_) value.assign(object->via.str.ptr, object->via.str.size);
  }
  template <IsEnum T>
  void operator()(std::string_view key, T& value, std::size_t limit) {
    std::uint64_t number = 0;
    (*this)(key, number);
    ok_ = ok_ && number < limit;
    if (ok_) value = static_cast<T>(number);
  }
  template <class T>
  void operator()(std::string_view key, std::vector<T>& values, std::size_t limit) {
    const msgpack::object* object = Find(key);
    ok_ = ok_ && object != nullptr && object->type == object_type::ARRAY &&
          object->via.array.size <= limit;
    if (!ok_) return;
    values.resize(object->via.array.size);
    for (std::size_t i = 0; i < values.size() && ok_; ++i) {
      ok_ = Get(object->via.array.ptr[i], values[i]);
    }
  }

 private:
  // Returns nullptr if the key is missing or ambiguous (there more than once).
  const msgpack::object* Find(std::string_view key) const {
    const msgpack::object* found = nullptr;
    for (std::uint32_t i = 0; i < map_.size; ++i) {
      const msgpack::object& name = map_.ptr[i].key;
      if (std::string_view(name.via.str.ptr, name.via.str.size) != key) continue;
      if (found != nullptr) return nullptr;
      found = &map_.ptr[i].val;
    }
    return found;
  }

  const msgpack::object_map& map_;
  bool ok_ = true;
};

bool AllKeysAreStrings(const msgpack::object_map& map) {
  for (std::uint32_t i = 0; i < map.size; ++i) {
    if (map.ptr[i].key.type != object_type::STR) return false;
  }
  return true;
}

// Returns a default body, given its index in the variant.
template <std::size_t... I>
Body EmptyBody(std::size_t index, std::index_sequence<I...>) {
  Body body;
  (void)((index == I ? (body.emplace<I>(), true) : false) || ...);
  return body;
}

// Returns the longest prefix of `text` of at most `limit` bytes that ends after a whole character.
std::string Shortened(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (text[limit] & 0xC0) == 0x80) --limit;  // a continuation byte of UTF-8
  return text.substr(0, limit);
}

}  // namespace

std::string PackFields(const Body& body) {
  if (const Leave* leave = std::get_if<Leave>(&body); leave && leave->text.size() > kMaxTextBytes) {
    return PackFields(Leave{leave->reason, Shortened(leave->text, kMaxTextBytes)});
  }
  std::string out;
  std::visit(
      [&](const auto& part) {
        Counter counter;
        Visit(counter, part);
        Packer packer(out);
        packer.Map(counter.count());
        Visit(packer, part);
      },
      body);
  CHECK(out.size() <= kMaxFieldsBytes, "{} bytes of fields", out.size());
  return out;
}

bool UnpackFields(Kind kind, std::span<const std::byte> bytes, Body& body) {
  try {
    // 1. Parse. A few bytes can claim gigabytes, so every count is limited before its memory is
    // allocated. Strings are not copied.
    const msgpack::unpack_limit limit(/*array=*/kMaxUpdateItems, /*map=*/kMaxMapEntries,
                                      /*str=*/kMaxStatePart, /*bin=*/kMaxTextBytes,
                                      /*ext=*/kMaxTextBytes, /*depth=*/kMaxFieldsDepth);
    const auto in_place = [](object_type, std::size_t, void*) { return true; };
    std::size_t used = 0;
    const msgpack::object_handle handle = msgpack::unpack(
        reinterpret_cast<const char*>(bytes.data()), bytes.size(), used, in_place, nullptr, limit);
    const msgpack::object& root = handle.get();
    if (used != bytes.size() || root.type != object_type::MAP) return false;
    if (!AllKeysAreStrings(root.via.map)) return false;
    // 2. Read the members of the body.
    body = EmptyBody(static_cast<std::size_t>(kind) - 1, std::make_index_sequence<kKinds>());
    Unpacker unpacker(root.via.map);
    std::visit([&](auto& part) { Visit(unpacker, part); }, body);
    return unpacker.ok();
  } catch (const std::exception&) {  // msgpack refuses the bytes, or there is no memory
    return false;
  }
}

}  // namespace starling::wire
