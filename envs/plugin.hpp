// An environment of your own in C++ (17 or later): write a class, end the file with STARLING_ENV.
//
//   struct Coin {
//     static constexpr const char* kName = "coin";
//     static constexpr int kHeight = 1, kWidth = 1, kChannels = 1;
//     static constexpr const char* kActions[] = {"heads", "tails"};
//
//     int side = 0;
//
//     void Reset(starling::plugin::Random& random) { side = random.Below(2); }
//     starling::plugin::Outcome Step(int action, starling::plugin::Random&) {
//       return {action == side ? 1.0f : 0.0f, starling::plugin::End::kTerminated};
//     }
//     void Observe(float* values) const { values[0] = static_cast<float>(side); }
//   };
//   STARLING_ENV(Coin);
//
// Reset begins an episode from any state. Reset and Step draw all random numbers from `random`, so
// the same seed gives the same episode. `values` is all 0 before Observe.
// Optional: `static constexpr float kLow = -1, kHigh = 1` (else 0 and 1), `int Lives() const`, and
// the list of all members that change, with which a run goes on exactly after a stop:
//   void Fields(starling::plugin::State& state) { state(side, 0, 1); }
// The class needs a default constructor. Every function may throw; users see the text of a
// std::exception. examples/plugin is a complete plug-in; envs/plugin.h has all rules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// In the same folder, so that both can be copied elsewhere.
#include "plugin.h"

namespace starling::plugin {

enum class End : std::int32_t {
  kRunning = STARLING_RUNNING,
  kTerminated = STARLING_TERMINATED,
  kTruncated = STARLING_TRUNCATED,
};

struct Outcome {
  float reward = 0;
  End end = End::kRunning;
};

// The state of an env as bytes. The same list of fields writes them and reads them back:
//   state(a)             a number, an array, std::array, std::vector or std::string of numbers, or
//                        an object with Fields; several, one call each
//   state(a, low, high)  a number, or each of an array, that lies within [low, high]; a state in
//                        which one does not is refused
class State {
 public:
  State() = default;  // writes
  State(const void* bytes, std::size_t size)
      : from_(static_cast<const unsigned char*>(bytes)), left_(size) {}

  bool reading() const { return from_ != nullptr; }
  const std::vector<unsigned char>& bytes() const { return bytes_; }
  void CheckEnd() const {
    if (left_ > 0) Refuse();
  }

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      Raw(&value, sizeof value);
    } else if constexpr (HasFields<T>(0)) {
      value.Fields(*this);
    } else {
      if constexpr (HasSize<T>(0)) Resize(value);
      for (auto& element : value) (*this)(element);
    }
  }
  template <class T, class Bound>
  void operator()(T& value, Bound low, Bound high) {
    if constexpr (std::is_arithmetic_v<T>) {
      T read = value;
      Raw(&read, sizeof read);
      if (!(read >= static_cast<T>(low) && read <= static_cast<T>(high))) Refuse();
      value = read;
    } else {
      if constexpr (HasSize<T>(0)) Resize(value);
      for (auto& element : value) (*this)(element, low, high);
    }
  }

 private:
  // Called with 0, the overload with int wins if the class has the member.
  template <class T>
  static constexpr auto HasFields(int)
      -> decltype(std::declval<T&>().Fields(std::declval<State&>()), true) {
    return true;
  }
  template <class T>
  static constexpr bool HasFields(long) {
    return false;
  }
  template <class T>
  static constexpr auto HasSize(int) -> decltype(std::declval<T&>().resize(1), true) {
    return true;
  }
  template <class T>
  static constexpr bool HasSize(long) {
    return false;
  }

  template <class T>
  void Resize(T& list) {
    std::uint64_t size = list.size();
    Raw(&size, sizeof size);
    if (reading() && size > left_) Refuse();
    list.resize(static_cast<std::size_t>(size));
  }
  void Raw(void* value, std::size_t size) {
    if (!reading()) {
      const auto* const begin = static_cast<const unsigned char*>(value);
      bytes_.insert(bytes_.end(), begin, begin + size);
      return;
    }
    if (size > left_) Refuse();
    std::memcpy(value, from_, size);
    from_ += size;
    left_ -= size;
  }
  [[noreturn]] static void Refuse() {
    throw std::runtime_error("these bytes are no state of this environment");
  }

  std::vector<unsigned char> bytes_{};
  const unsigned char* from_ = nullptr;
  std::size_t left_ = 0;
};

// A small generator: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Equal seeds, equal numbers.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t Bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  float Uniform() { return static_cast<float>(Bits() >> 40) * 0x1p-24f; }
  // In [0, n), n >= 1.
  int Below(int n) {
    return static_cast<int>(((Bits() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
  }

  void Fields(State& state) { state(state_); }

 private:
  std::uint64_t state_;
};

// The table of a class as above. Its functions catch every exception.
template <class Env>
class Exported {
 public:
  static const starling_env_v1* Table() {
    // In the order of starling_env_v1: C++17 has no designated initializers.
    static const starling_env_v1 table = {
        STARLING_ENV_ABI,
        sizeof(starling_env_v1),
        Env::kName,
        Env::kHeight,
        Env::kWidth,
        Env::kChannels,
        Low<Env>(0),
        High<Env>(0),
        static_cast<std::int32_t>(std::size(Env::kActions)),
        Env::kActions,
        Create,
        Destroy,
        Reset,
        Step,
        Observe,
        Lives<Env>(0),
        Error,
        Save<Env>(0),
        Restore<Env>(0),
    };
    return &table;
  }

 private:
  struct Instance {
    Env env{};
    Random random{};
  };

  // Returns 0, or 1 if `body` throws; keeps the exception's text for Error.
  template <class Body>
  static std::int32_t Try(Body body) noexcept {
    try {
      body();
      return 0;
    } catch (const std::exception& error) {
      Remember(error.what());
    } catch (...) {
      Remember("something was thrown that is no std::exception");
    }
    return 1;
  }
  static void Remember(const char* text) noexcept {
    try {
      Text() = text;
    } catch (...) {
    }
  }
  static std::string& Text() {
    static thread_local std::string text;
    return text;
  }
  static Instance& At(void* env) { return *static_cast<Instance*>(env); }

  static void* Create() {
    void* made = nullptr;
    Try([&] { made = new Instance; });
    return made;
  }
  static void Destroy(void* env) {
    Try([&] { delete static_cast<Instance*>(env); });
  }
  static std::int32_t Reset(void* env, std::uint64_t seed) {
    return Try([&] {
      At(env).random = Random(seed);
      At(env).env.Reset(At(env).random);
    });
  }
  static std::int32_t Step(void* env, std::int32_t action, float* reward, std::int32_t* end) {
    return Try([&] {
      const Outcome outcome = At(env).env.Step(action, At(env).random);
      *reward = outcome.reward;
      *end = static_cast<std::int32_t>(outcome.end);
    });
  }
  static std::int32_t Observe(void* env, float* values) {
    constexpr std::size_t size = std::size_t{Env::kHeight} * Env::kWidth * Env::kChannels;
    return Try([&] {
      std::fill_n(values, size, 0.0f);
      std::as_const(At(env).env).Observe(values);
    });
  }
  static const char* Error(void*) { return Text().c_str(); }

  // Optional members: called with 0, the overload with int wins if the class has the member.
  template <class E>
  static constexpr auto Low(int) -> decltype(float{E::kLow}) {
    return E::kLow;
  }
  template <class E>
  static constexpr float Low(long) {
    return 0;
  }
  template <class E>
  static constexpr auto High(int) -> decltype(float{E::kHigh}) {
    return E::kHigh;
  }
  template <class E>
  static constexpr float High(long) {
    return 1;
  }

  using SaveFunction = std::int32_t (*)(void*, void*, std::uint64_t, std::uint64_t*);
  template <class E>
  static constexpr auto Save(int)
      -> decltype(std::declval<E&>().Fields(std::declval<State&>()), SaveFunction{}) {
    return [](void* env, void* bytes, std::uint64_t room, std::uint64_t* size) {
      return Try([&] {
        State state;
        state(At(env).random);
        state(At(env).env);
        *size = state.bytes().size();
        if (*size <= room) std::copy(state.bytes().begin(), state.bytes().end(), Bytes(bytes));
      });
    };
  }
  template <class E>
  static constexpr SaveFunction Save(long) {
    return nullptr;
  }
  using RestoreFunction = std::int32_t (*)(void*, const void*, std::uint64_t);
  template <class E>
  static constexpr auto Restore(int)
      -> decltype(std::declval<E&>().Fields(std::declval<State&>()), RestoreFunction{}) {
    return [](void* env, const void* bytes, std::uint64_t size) {
      return Try([&] {
        State state(bytes, static_cast<std::size_t>(size));
        state(At(env).random);
        state(At(env).env);
        state.CheckEnd();
      });
    };
  }
  template <class E>
  static constexpr RestoreFunction Restore(long) {
    return nullptr;
  }
  static unsigned char* Bytes(void* bytes) { return static_cast<unsigned char*>(bytes); }

  using LivesFunction = std::int32_t (*)(void*);
  template <class E>
  static constexpr auto Lives(int)
      -> std::enable_if_t<std::is_integral_v<decltype(std::declval<const E&>().Lives())>,
                          LivesFunction> {
    return [](void* env) {
      std::int32_t lives = -1;
      Try([&] { lives = std::as_const(At(env).env).Lives(); });
      return lives;
    };
  }
  template <class E>
  static constexpr LivesFunction Lives(long) {
    return nullptr;
  }
};

}  // namespace starling::plugin

// Exports the plug-in; once in a library, outside of any namespace.
#define STARLING_ENV(Class)                              \
  extern "C" const starling_env_v1* starling_env(void) { \
    return starling::plugin::Exported<Class>::Table();   \
  }                                                      \
  static_assert(true, "so that a semicolon may follow")
