// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A stream is a key and a counter, so it is plain data: copyable, comparable,
// restartable, and any two streams with different keys are independent.
#pragma once

#include <array>
#include <cstdint>

namespace starling {

// Ten rounds of Philox 4x32 over `counter` under `key`. Known answers: tests/core/random_test.cc.
std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// What a stream is drawn for; part of its key, so that purposes never share numbers.
enum class Purpose : std::uint32_t {
  kEnv = 1,
  kAction = 2,
  kInit = 3,
  kEval = 4,
  kTest = 5,
  kNoop = 6,       // no-ops before an episode
  kSticky = 7,     // sticky actions of envs that draw by themselves
  kBootstrap = 8,  // runs drawn anew, for the intervals of a report
};

struct StreamId {
  std::uint64_t seed = 0;         // run.seed
  std::uint32_t slot = 0;         // actor slot
  std::uint32_t incarnation = 0;  // of the actor in that slot
  std::uint32_t env = 0;          // environment within the actor
  Purpose purpose = Purpose::kTest;
};

// A stream of 32-bit draws. Equal ids give equal streams on every machine.
class RandomStream {
 public:
  explicit RandomStream(const StreamId& id = {});

  std::uint32_t Bits();                      // uniform over 2^32
  float Uniform();                           // [0, 1), 24 bits
  double UniformDouble();                    // [0, 1), 53 bits
  std::uint32_t Below(std::uint32_t bound);  // uniform over [0, bound), unbiased; bound >= 1
  float Normal();                            // standard normal (Box-Muller)

  friend bool operator==(const RandomStream&, const RandomStream&) = default;

 private:
  std::array<std::uint32_t, 2> key_{};
  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4;  // draws of block_ already handed out
};

}  // namespace starling
