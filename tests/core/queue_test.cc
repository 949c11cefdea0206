#include "core/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace starling {
namespace {

TEST(BoundedQueue, FirstInFirstOutUpToItsCapacity) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_TRUE(queue.Push(2));
  EXPECT_FALSE(queue.TryPush(3));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_TRUE(queue.TryPush(4));
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), 4);
  queue.Close();
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueue, ClosedItTakesNothingMoreAndDrains) {
  BoundedQueue<int> queue(3);
  queue.Push(1);
  queue.Push(2);
  queue.Close();
  EXPECT_FALSE(queue.Push(3));
  EXPECT_FALSE(queue.TryPush(3));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), std::nullopt);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

// All threads return, whether they wait when Close is called or call later.
TEST(BoundedQueue, ClosingWakesThoseWhoWaitAtBothEnds) {
  BoundedQueue<int> full(1), empty(1);
  full.Push(0);
  std::atomic<int> refused = 0, ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { refused += full.Push(1) ? 0 : 1; });
    threads.emplace_back([&] { ended += empty.Pop() ? 0 : 1; });
  }
  full.Close();
  empty.Close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(ended, 4);
}

// Every item arrives once, and those of one producer in its order, with more threads than places.
TEST(BoundedQueue, NothingIsLostOrDoubledBetweenManyThreads) {
  constexpr int kProducers = 3, kConsumers = 3, kItems = 5000;
  struct Item {
    int producer, number;
  };
  BoundedQueue<Item> queue(2);
  std::vector<std::thread> producers, consumers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (int i = 0; i < kItems; ++i) ASSERT_TRUE(queue.Push({p, i}));
    });
  }
  std::vector<std::vector<Item>> taken(kConsumers);
  for (auto& mine : taken) {
    consumers.emplace_back([&] {
      while (auto item = queue.Pop()) mine.push_back(*item);
    });
  }
  for (std::thread& thread : producers) thread.join();
  queue.Close();
  for (std::thread& thread : consumers) thread.join();

  std::vector<std::vector<int>> times(kProducers, std::vector<int>(kItems));
  for (const auto& mine : taken) {
    std::vector<int> last(kProducers, -1);
    for (const Item& item : mine) {
      EXPECT_GT(item.number, last[static_cast<std::size_t>(item.producer)]);
      last[static_cast<std::size_t>(item.producer)] = item.number;
      ++times[static_cast<std::size_t>(item.producer)][static_cast<std::size_t>(item.number)];
    }
  }
  for (const auto& counts : times) EXPECT_EQ(counts, std::vector<int>(kItems, 1));
}

}  // namespace
}  // namespace starling
