// The ring in one thread, then between two; runs under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "learner/apply/ring.h"

namespace starling::learner {
namespace {

TEST(SpscRing, IsFirstInFirstOutAndBounded) {
  SpscRing<int, 4> ring;
  int out = -1;
  EXPECT_FALSE(ring.TryPop(out));
  EXPECT_EQ(out, -1);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.TryPush(i));
  EXPECT_FALSE(ring.TryPush(4));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(ring.TryPop(out));
    EXPECT_EQ(out, i);
  }
  EXPECT_FALSE(ring.TryPop(out));
}

TEST(SpscRing, GoesRoundManyTimesAtEveryFillLevel) {
  for (int level = 1; level <= 4; ++level) {
    SpscRing<int, 4> ring;
    int next_in = 0, next_out = 0;
    while (next_out < 100) {
      while (next_in - next_out < level) ASSERT_TRUE(ring.TryPush(next_in++));
      EXPECT_EQ(ring.TryPush(-1), level < 4);
      int out = -1;
      ASSERT_TRUE(ring.TryPop(out));
      ASSERT_EQ(out, next_out++);
      if (level < 4) {  // pop everything before the -1, and the -1
        for (int i = 1; i < level; ++i) ASSERT_TRUE(ring.TryPop(out));
        ASSERT_TRUE(ring.TryPop(out));
        ASSERT_EQ(out, -1);
        next_out = next_in;
      }
    }
  }
}

TEST(SpscRing, MovesItsItems) {
  SpscRing<std::unique_ptr<int>, 2> ring;
  EXPECT_TRUE(ring.TryPush(std::make_unique<int>(7)));
  std::unique_ptr<int> out;
  ASSERT_TRUE(ring.TryPop(out));
  EXPECT_EQ(*out, 7);
}

// A value whose contents follow from its number, so that a torn or reordered one is detected.
struct Parcel {
  std::uint64_t number = 0;
  std::array<std::uint64_t, 7> contents{};
};

Parcel MakeParcel(std::uint64_t number) {
  Parcel parcel{number, {}};
  for (std::size_t i = 0; i < parcel.contents.size(); ++i) {
    parcel.contents[i] = (number + i) * 0x9E3779B97F4A7C15ull;
  }
  return parcel;
}

template <std::size_t Capacity>
void EveryParcelArrivesWholeAndInOrder(std::uint64_t count) {
  SpscRing<Parcel, Capacity> ring;
  Parker not_empty, not_full;
  std::thread producer([&] {
    for (std::uint64_t n = 0; n < count; ++n) {
      for (;;) {
        const std::uint32_t ticket = not_full.Ticket();
        if (ring.TryPush(MakeParcel(n))) break;
        not_full.Park(ticket);
      }
      not_empty.Wake();
    }
  });
  std::uint64_t damaged = 0;
  for (std::uint64_t n = 0; n < count; ++n) {
    Parcel parcel;
    for (;;) {
      const std::uint32_t ticket = not_empty.Ticket();
      if (ring.TryPop(parcel)) break;
      not_empty.Park(ticket);
    }
    not_full.Wake();
    const Parcel expected = MakeParcel(n);
    if (parcel.number != n || parcel.contents != expected.contents) ++damaged;
  }
  producer.join();
  Parcel left;
  EXPECT_FALSE(ring.TryPop(left));
  EXPECT_EQ(damaged, 0u);
}

TEST(SpscRingLockfree, EveryParcelArrivesWholeAndInOrder) {
  EveryParcelArrivesWholeAndInOrder<1>(20'000);
  EveryParcelArrivesWholeAndInOrder<2>(20'000);
  EveryParcelArrivesWholeAndInOrder<64>(100'000);
}

// Ping-pong: both sides park before nearly every message, so a lost wake-up would hang here.
TEST(ParkerLockfree, LosesNoWakeUp) {
  SpscRing<std::uint64_t, 1> there, back;
  Parker there_parker, back_parker;
  constexpr std::uint64_t kRounds = 20'000, kLast = ~std::uint64_t{0};
  const auto wait_for = [](auto& ring, Parker& parker) {
    std::uint64_t value = 0;
    for (;;) {
      const std::uint32_t ticket = parker.Ticket();
      if (ring.TryPop(value)) return value;
      parker.Park(ticket);
    }
  };
  const auto send = [](auto& ring, Parker& parker, std::uint64_t value) {
    ASSERT_TRUE(ring.TryPush(value));
    parker.Wake();
  };
  std::thread echo([&] {
    for (std::uint64_t value; (value = wait_for(there, there_parker)) != kLast;) {
      send(back, back_parker, value + 1);
    }
  });
  std::uint64_t value = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    send(there, there_parker, value);
    value = wait_for(back, back_parker);
  }
  send(there, there_parker, kLast);
  echo.join();
  EXPECT_EQ(value, kRounds);
}

// The shutdown protocol of the lanes: a flag, then a wake-up; every earlier push is drained.
TEST(ParkerLockfree, AStopFlagEndsTheSleeperAfterItHasDrained) {
  for (std::uint64_t round = 0; round < 2'000; ++round) {
    SpscRing<std::uint64_t, 4> ring;
    Parker parker;
    std::atomic<bool> stop{false};
    std::uint64_t popped = 0;
    std::thread sleeper([&] {
      for (;;) {
        const std::uint32_t ticket = parker.Ticket();
        const bool stopping = stop.load(std::memory_order_acquire);
        std::uint64_t value = 0;
        if (ring.TryPop(value)) {
          ++popped;
        } else if (stopping) {
          return;
        } else {
          parker.Park(ticket);
        }
      }
    });
    const std::uint64_t pushes = round % 4;
    for (std::uint64_t i = 0; i < pushes; ++i) {
      ASSERT_TRUE(ring.TryPush(i));
      parker.Wake();
    }
    stop.store(true, std::memory_order_release);
    parker.Wake();
    sleeper.join();
    ASSERT_EQ(popped, pushes);
  }
}

}  // namespace
}  // namespace starling::learner
