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
// Other actions, which Step takes as `const Action&`:
//   using Action = std::array<int, n>;           a value of each of n choices, with
//   static constexpr int kCounts[] = {3, 2};     the number of values of each, instead of kActions
//   using Action = std::array<float, n>;         a point of a box, with its bounds, which may be
//   static constexpr Action kActionLow = {-1}, kActionHigh = {1};     infinite
// Of choices, the values that are forbidden in the next step; all are 1 before, choice 0 is first:
//   void Mask(std::uint8_t* allowed) const { allowed[2] = side; }
// Several arrays, which Observe writes one after the other, instead of kHeight, kWidth, kChannels,
// kLow and kHigh (bounds that are left out are 0 and 1):
//   static constexpr starling::plugin::Entry kEntries[] = {{"board", 8, 8, 2}, {"x", 1, 1, 3, -1}};
// The class needs a default constructor. Every function may throw; users see the text of a
// std::exception. examples/plugin is a complete plug-in; envs/plugin.h has all rules.
#pragma once

#include <algorithm>
#include <array>
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
#ifndef STARLING_ENV_VERSION
#define STARLING_ENV_VERSION 2
#endif
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

// An array that is observed.
struct Entry {
  const char* name;
  int height, width, channels;
  float low = 0, high = 1;  // of its values
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
      if (!IsWithin(read, low, high)) {
        if (reading()) Refuse();
        throw std::runtime_error("a member is " + std::to_string(read) +
                                 ", outside of the bounds that Fields gives it");
      }
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
  template <class T, class Bound>
  static bool IsWithin(T value, Bound low, Bound high) {
    if constexpr (std::is_floating_point_v<T>) {  // 0.1f is within 0 to 0.1
      return value >= static_cast<T>(low) && value <= static_cast<T>(high);
    } else {  // a long double holds the numbers of every type
      const auto wide = [](auto number) { return static_cast<long double>(number); };
      return wide(value) >= wide(low) && wide(value) <= wide(high);
    }
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

// The type of a class's actions: its Action if that is one of those above, else int.
template <class T>
struct ActionType {
  using Type = int;
  static constexpr std::size_t kWidth = 1;
  static constexpr bool kBox = false;
};
template <std::size_t n>
struct ActionType<std::array<int, n>> {
  using Type = std::array<int, n>;
  static constexpr std::size_t kWidth = n;
  static constexpr bool kBox = false;
};
template <std::size_t n>
struct ActionType<std::array<float, n>> {
  using Type = std::array<float, n>;
  static constexpr std::size_t kWidth = n;
  static constexpr bool kBox = true;
};
// Called with 0, as all functions below: the overload with int wins if the class has the member.
template <class E>
ActionType<typename E::Action> ActionOf(int);
template <class E>
ActionType<void> ActionOf(long);

// The table of a class as above. Its functions catch every exception.
template <class Env>
class Exported {
 public:
  static const starling_env_v2* Table() {
    // In the order of starling_env_v2: C++17 has no designated initializers.
    static const starling_env_v2 table = {
        2,
        sizeof(starling_env_v2),
        Env::kName,
        static_cast<std::int32_t>(Entries<Env>(0).size()),
        Entries<Env>(0).data(),
        Actions::kBox ? STARLING_BOX : STARLING_CHOICES,
        static_cast<std::int32_t>(Actions::kWidth),
        Counts(),
        Names(),
        Lows(),
        Highs(),
        Create,
        Destroy,
        Reset,
        Step,
        Observe,
        Mask<Env>(0),
        Lives<Env>(0),
        Error,
        Save<Env>(0),
        Restore<Env>(0),
    };
    return &table;
  }

 private:
  using Actions = decltype(ActionOf<Env>(0));

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
  static std::int32_t Step(void* env, const starling_action* words, float* reward,
                           std::int32_t* end) {
    return Try([&] {
      const Outcome outcome = At(env).env.Step(ActionIn(words), At(env).random);
      *reward = outcome.reward;
      *end = static_cast<std::int32_t>(outcome.end);
    });
  }
  static typename Actions::Type ActionIn(const starling_action* words) {
    if constexpr (std::is_same_v<typename Actions::Type, int>) {
      return words->choice;
    } else {
      typename Actions::Type action{};
      for (std::size_t k = 0; k < action.size(); ++k) {
        if constexpr (Actions::kBox) {
          action[k] = words[k].coordinate;
        } else {
          action[k] = words[k].choice;
        }
      }
      return action;
    }
  }
  static std::int32_t Observe(void* env, float* values) {
    return Try([&] {
      std::fill_n(values, Values(), 0.0f);
      std::as_const(At(env).env).Observe(values);
    });
  }
  static const char* Error(void*) { return Text().c_str(); }

  // The arrays that are observed.
  template <class E>
  static auto Entries(int)
      -> std::enable_if_t<std::is_same_v<std::decay_t<decltype(E::kEntries[0])>, Entry>,
                          const std::array<starling_entry, std::size(E::kEntries)>&> {
    static const auto entries = [] {
      std::array<starling_entry, std::size(E::kEntries)> list{};
      std::size_t k = 0;
      for (const Entry& e : E::kEntries) {
        list[k++] = {e.name, e.height, e.width, e.channels, e.low, e.high};
      }
      return list;
    }();
    return entries;
  }
  template <class E>
  static const std::array<starling_entry, 1>& Entries(long) {
    static const std::array<starling_entry, 1> entries = {
        {{nullptr, E::kHeight, E::kWidth, E::kChannels, Low<E>(0), High<E>(0)}}};
    return entries;
  }
  static constexpr std::size_t Size(std::int32_t n) { return static_cast<std::size_t>(n); }
  static std::size_t Values() {
    std::size_t values = 0;
    for (const starling_entry& e : Entries<Env>(0)) {
      values += Size(e.height) * Size(e.width) * Size(e.channels);
    }
    return values;
  }

  // The number of values of each choice, and their names if it is one.
  static const std::int32_t* Counts() {
    if constexpr (Actions::kBox) {
      return nullptr;
    } else if constexpr (HasNames<Env>(0)) {
      static_assert(Actions::kWidth == 1, "kActions names the values of one choice: use kCounts");
      static const std::int32_t count = static_cast<std::int32_t>(std::size(Env::kActions));
      return &count;
    } else {
      static_assert(std::size(Env::kCounts) == Actions::kWidth, "kCounts has one for each choice");
      return std::data(Env::kCounts);
    }
  }
  template <class E>
  static constexpr auto HasNames(int) -> decltype(std::size(E::kActions), true) {
    return true;
  }
  template <class E>
  static constexpr bool HasNames(long) {
    return false;
  }
  static const char* const* Names() {
    if constexpr (HasNames<Env>(0)) {
      static_assert(!Actions::kBox, "a box has no kActions");
      return Env::kActions;
    } else {
      return nullptr;
    }
  }

  // The bounds of a box.
  static const float* Lows() {
    if constexpr (Actions::kBox) {
      static constexpr typename Actions::Type low = Env::kActionLow;
      return low.data();
    } else {
      return nullptr;
    }
  }
  static const float* Highs() {
    if constexpr (Actions::kBox) {
      static constexpr typename Actions::Type high = Env::kActionHigh;
      return high.data();
    } else {
      return nullptr;
    }
  }

  // Optional members: called with 0, the overload with int wins if the class has the member.
  using MaskFunction = std::int32_t (*)(void*, std::uint8_t*);
  // A member of exactly this type.
  template <class E>
  static constexpr auto Mask(int) -> std::enable_if_t<
      std::is_convertible_v<decltype(&E::Mask), void (E::*)(std::uint8_t*) const>, MaskFunction> {
    static_assert(!Actions::kBox, "a box has no Mask");
    return [](void* env, std::uint8_t* allowed) {
      return Try([&] {
        std::size_t values = 0;
        for (std::size_t k = 0; k < Actions::kWidth; ++k) values += Size(Counts()[k]);
        std::fill_n(allowed, values, std::uint8_t{1});
        std::as_const(At(env).env).Mask(allowed);
      });
    };
  }
  template <class E>
  static constexpr MaskFunction Mask(long) {
    static_assert(!(HasMask<E>(0) && HasCounts<E>(0)), "declare void Mask(std::uint8_t*) const");
    return nullptr;
  }
  // Classes that are older than masks may use the name otherwise; those with kCounts are not older.
  template <class E>
  static constexpr auto HasMask(int) -> decltype(&E::Mask, true) {
    return true;
  }
  template <class E>
  static constexpr bool HasMask(long) {
    return false;
  }
  template <class E>
  static constexpr auto HasCounts(int) -> decltype(std::size(E::kCounts), true) {
    return true;
  }
  template <class E>
  static constexpr bool HasCounts(long) {
    return false;
  }
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
#define STARLING_ENV(Class)                                  \
  extern "C" const starling_env_table* starling_env(void) {  \
    /* The same type, unless plugin.h was included first. */ \
    return reinterpret_cast<const starling_env_table*>(      \
        starling::plugin::Exported<Class>::Table());         \
  }                                                          \
  static_assert(true, "so that a semicolon may follow")
