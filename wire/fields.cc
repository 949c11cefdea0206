#include "wire/fields.h"

#include <concepts>
#include <cstdint>
#include <exception>
#include <limits>
#include <msgpack.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/check.h"

namespace starling::wire {
namespace {

// The keys of every body, once for packing, unpacking and counting: `visit(key, member[, limit])`.
template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

template <class Visitor>
void Visit(Visitor& visit, Is<Hello> auto& hello) {
  visit("slot", hello.slot);
  visit("host", hello.host, kMaxTextBytes);
  visit("pid", hello.pid);
}
template <class Visitor>
void Visit(Visitor& visit, Is<Welcome> auto& welcome) {
  visit("config", welcome.config, kMaxConfigBytes);
  visit("snapshot", welcome.snapshot, kMaxTextBytes);
  visit("beacon", welcome.beacon, kMaxTextBytes);
  visit("buffers", welcome.buffers, kMaxTextBytes);
  visit("shards", welcome.shards, kMaxShardsNamed);
}
template <class Visitor>
void Visit(Visitor& visit, Is<Gradient> auto& gradient) {
  visit("grant", gradient.grant);
  visit("buffer", gradient.buffer);
  visit("samples", gradient.samples);
  visit("norm", gradient.norm);
  visit("ploss", gradient.policy_loss);
  visit("vloss", gradient.value_loss);
  visit("entropy", gradient.entropy);
  visit("wait_us", gradient.wait_us);
  visit("refresh_us", gradient.refresh_us);
  visit("act_us", gradient.act_us);
  visit("grad_us", gradient.gradient_us);
  visit("push_us", gradient.push_us);
  visit("episodes", gradient.episodes, kMaxEpisodes);
  visit("cut", gradient.episodes_cut);
  visit("replaced", gradient.envs_replaced);
}
template <class Visitor>
void Visit(Visitor& visit, Is<Answer> auto& answer) {
  visit("answers", answer.answers);
  visit("outcome", answer.outcome, kOutcomes);
  visit("tau", answer.staleness);
  visit("grants", answer.grants, kMaxGrants);
}
template <class Visitor>
void Visit(Visitor&, Is<Heartbeat> auto&) {}
template <class Visitor>
void Visit(Visitor& visit, Is<Fetch> auto& fetch) {
  visit("version", fetch.version);
}
template <class Visitor>
void Visit(Visitor& visit, Is<Weights> auto& weights) {
  visit("steps", weights.steps);
  visit("entropy", weights.entropy);
}
template <class Visitor>
void Visit(Visitor& visit, Is<Bye> auto& bye) {
  visit("reason", bye.reason, kByeReasons);
  visit("text", bye.text, kMaxTextBytes);
}
template <class Visitor>
void Visit(Visitor& visit, Is<GradientSlice> auto& slice) {
  visit("gradient", slice.gradient);
}
template <class Visitor>
void Visit(Visitor& visit, Is<ShardHello> auto& hello) {
  visit("shard", hello.shard);
  visit("pid", hello.pid);
}
template <class Visitor>
void Visit(Visitor& visit, Is<ShardWelcome> auto& welcome) {
  visit("checkpoint", welcome.checkpoint, kMaxTextBytes);
  visit("endpoint", welcome.endpoint, kMaxTextBytes);
  visit("snapshot", welcome.snapshot, kMaxTextBytes);
  visit("local_key", welcome.local_key, kMaxTextBytes);
}
template <class Visitor>
void Visit(Visitor& visit, Is<ShardReady> auto& ready) {
  visit("endpoint", ready.place.endpoint, kMaxTextBytes);
  visit("snapshot", ready.place.snapshot, kMaxTextBytes);
}
template <class Visitor>
void Visit(Visitor& visit, Is<SliceHeld> auto& held) {
  visit("gradient", held.gradient);
  visit("norm", held.norm);
  visit("key", held.key, kMaxTextBytes);
}
template <class Visitor>
void Visit(Visitor& visit, Is<Forget> auto& forget) {
  visit("gradient", forget.gradient);
}
template <class Visitor>
void Visit(Visitor& visit, Is<Verdict> auto& verdict) {
  visit("items", verdict.items, kMaxVerdictItems);
  visit("lr", verdict.lr);
  visit("scale", verdict.scale);
  visit("step", verdict.optimizer_step);
  visit("steps", verdict.steps);
  visit("entropy", verdict.entropy);
  visit("checkpoint", verdict.checkpoint);
}
template <class Visitor>
void Visit(Visitor&, Is<ShardApplied> auto&) {}
template <class Visitor>
void Visit(Visitor& visit, Is<ShardSaved> auto& saved) {
  visit("error", saved.error, kMaxTextBytes);
}
template <class Visitor>
void Visit(Visitor&, Is<ReloadKeys> auto&) {}

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

  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void operator()(std::string_view key, const T& value) {
    Key(key);
    Number(value);
  }
  void operator()(std::string_view key, const std::string& value, std::size_t limit) {
    CHECK(value.size() <= limit, "{} of {} bytes", key, value.size());
    Key(key);
    String(value);
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(std::string_view key, const T& value, std::size_t limit) {
    CHECK(static_cast<std::size_t>(value) < limit, "{} {}", key, static_cast<std::size_t>(value));
    Key(key);
    pack_.pack(static_cast<std::uint64_t>(value));
  }
  template <class T>
  void operator()(std::string_view key, const std::vector<T>& values, std::size_t limit) {
    CHECK(values.size() <= limit, "{} {}", values.size(), key);
    Key(key);
    pack_.pack_array(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) Item(value);
  }

 private:
  void String(std::string_view text) {
    pack_.pack_str(static_cast<std::uint32_t>(text.size()));
    pack_.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
  }
  void Key(std::string_view key) { String(key); }
  void Number(std::integral auto value) { pack_.pack(value); }
  // The library packs whole reals as integers, 2^64 too, which is none; 2^64 - 1 reads back as the same double.
  void Number(double value) {
    if (value == 0x1p64) {
      pack_.pack(std::numeric_limits<std::uint64_t>::max());
    } else {
      pack_.pack(value);
    }
  }
  void Array(const auto&... values) {
    pack_.pack_array(sizeof...(values));
    (Number(values), ...);
  }
  void Item(const Episode& episode) { Array(episode.episode_return, episode.length); }
  void Item(const Grant& grant) { Array(grant.number, grant.version); }
  void Item(const Verdict::Item& item) {
    Array(item.slot, item.incarnation, item.gradient, item.weight);
  }
  void Item(const ShardPlace& place) {
    pack_.pack_array(2);
    String(place.endpoint);
    String(place.snapshot);
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
  if (!Get(object, wide) || wide > std::numeric_limits<std::uint32_t>::max()) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}
bool Get(const msgpack::object& object, std::int64_t& out) {
  if (object.type == object_type::NEGATIVE_INTEGER) {
    out = object.via.i64;
    return true;
  }
  std::uint64_t wide = 0;
  if (!Get(object, wide) || wide > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return false;
  }
  out = static_cast<std::int64_t>(wide);
  return true;
}
// Whole numbers travel as integers: msgpack packs 3.0 as 3, as other implementations do.
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
bool GetAll(const msgpack::object& object, auto&... values) {
  if (object.type != object_type::ARRAY || object.via.array.size != sizeof...(values)) return false;
  const msgpack::object* next = object.via.array.ptr;
  return (Get(*next++, values) && ...);
}
bool Get(const msgpack::object& object, Episode& out) {
  return GetAll(object, out.episode_return, out.length);
}
bool Get(const msgpack::object& object, Grant& out) {
  return GetAll(object, out.number, out.version);
}
bool Get(const msgpack::object& object, Verdict::Item& out) {
  return GetAll(object, out.slot, out.incarnation, out.gradient, out.weight);
}
bool Get(const msgpack::object& object, ShardPlace& out) {
  return GetAll(object, out.endpoint, out.snapshot);
}

// Reads members from a map; what fails once stays failed.
class Unpacker {
 public:
  explicit Unpacker(const msgpack::object_map& map) : map_(map) {}
  bool ok() const { return ok_; }

  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void operator()(std::string_view key, T& value) {
    const msgpack::object* object = Find(key);
    ok_ = ok_ && object != nullptr && Get(*object, value);
  }
  void operator()(std::string_view key, std::string& value, std::size_t limit) {
    const msgpack::object* object = Find(key);
    ok_ = ok_ && object != nullptr && object->type == object_type::STR &&
          object->via.str.size <= limit;
    if (ok_) value.assign(object->via.str.ptr, object->via.str.size);
  }
  template <class T>
  requires std::is_enum_v<T>
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
  // Null if the key is missing, or there more than once: then nobody can say which was meant.
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

// An empty body of this kind: default constructed by its index in the variant.
template <std::size_t... I>
Body EmptyBody(std::size_t index, std::index_sequence<I...>) {
  Body body;
  (void)((index == I ? (body.emplace<I>(), true) : false) || ...);
  return body;
}

std::size_t CutAtCharacter(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return limit;
}

}  // namespace

std::string PackFields(const Body& body) {
  if (const Bye* bye = std::get_if<Bye>(&body); bye && bye->text.size() > kMaxTextBytes) {
    return PackFields(
        Bye{bye->reason, bye->text.substr(0, CutAtCharacter(bye->text, kMaxTextBytes))});
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
    // A few bytes can ask for gigabytes: every count is limited before anything is allocated.
    // Strings stay where they are.
    const msgpack::unpack_limit limit(/*array=*/kMaxEpisodes, /*map=*/kMaxMapEntries,
                                      /*str=*/kMaxConfigBytes, /*bin=*/kMaxTextBytes,
                                      /*ext=*/kMaxTextBytes, /*depth=*/kMaxFieldsDepth);
    const auto in_place = [](object_type, std::size_t, void*) { return true; };
    std::size_t used = 0;
    const msgpack::object_handle handle = msgpack::unpack(
        reinterpret_cast<const char*>(bytes.data()), bytes.size(), used, in_place, nullptr, limit);
    const msgpack::object& root = handle.get();
    if (used != bytes.size() || root.type != object_type::MAP) return false;
    if (!AllKeysAreStrings(root.via.map)) return false;
    body = EmptyBody(static_cast<std::size_t>(kind) - 1, std::make_index_sequence<kKinds>());
    Unpacker unpacker(root.via.map);
    std::visit([&](auto& part) { Visit(unpacker, part); }, body);
    return unpacker.ok();
  } catch (const std::exception&) {  // msgpack's ways to say no, and no memory
    return false;
  }
}

}  // namespace starling::wire
