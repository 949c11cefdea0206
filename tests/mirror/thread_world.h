// Ranks that are threads of one process.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "mirror/world.h"

namespace starling::mirror {

// What the ranks meet at. Every exchange: all write where they are, all read, all go on.
class Hub {
 public:
  explicit Hub(int size) : met_(size), from_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(from_.size()); }
  // `read` sees what every rank has put down.
  void Meet(int rank, const void* mine, const std::function<void()>& read) {
    from_[static_cast<std::size_t>(rank)] = mine;
    met_.arrive_and_wait();
    read();
    met_.arrive_and_wait();
  }
  template <class T>
  const T& Of(std::size_t rank) const {
    return *static_cast<const T*>(from_[rank]);
  }

 private:
  std::barrier<> met_;
  std::vector<const void*> from_;
};

class ThreadWorld : public World {
 public:
  ThreadWorld(Hub& hub, int rank) : hub_(hub), rank_(rank) {}

  Hub& hub() { return hub_; }
  int rank() const override { return rank_; }
  int size() const override { return hub_.size(); }

  std::vector<Bytes> Share(std::span<const std::byte> mine) override {
    std::vector<Bytes> all;
    hub_.Meet(rank_, &mine, [&] {
      for (std::size_t rank = 0; rank < ranks(); ++rank) {
        const auto& theirs = hub_.Of<std::span<const std::byte>>(rank);
        all.emplace_back(theirs.begin(), theirs.end());
      }
    });
    return all;
  }
  std::vector<Bytes> Collect(std::span<const std::byte> mine) override {
    std::vector<Bytes> all = Share(mine);
    return rank_ == 0 ? all : std::vector<Bytes>();
  }
  void Broadcast(Bytes& bytes) override {
    const std::vector<Bytes> all = Share(bytes);
    bytes = all[0];
  }
  void Spread(const std::byte* whole, std::span<const wire::Slice> slices, std::byte* parts,
              std::size_t width) override {
    const wire::Slice& own = slices[static_cast<std::size_t>(rank_)];
    hub_.Meet(rank_, &whole, [&] {
      for (std::size_t rank = 0; rank < ranks() && own.size > 0; ++rank) {
        std::memcpy(parts + rank * own.size * width,
                    hub_.Of<const std::byte*>(rank) + own.begin * width, own.size * width);
      }
    });
  }
  void Join(std::byte* whole, std::span<const wire::Slice> slices, std::size_t width) override {
    hub_.Meet(rank_, &whole, [&] {
      for (std::size_t rank = 0; rank < ranks(); ++rank) {
        if (static_cast<int>(rank) == rank_) continue;
        std::memcpy(whole + slices[rank].begin * width,
                    hub_.Of<std::byte*>(rank) + slices[rank].begin * width,
                    slices[rank].size * width);
      }
    });
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(size()); }

  Hub& hub_;
  const int rank_;
};

// Calls `rank` in a thread of its own for each of `size` ranks.
inline void RunRanks(int size, const std::function<void(ThreadWorld&)>& rank) {
  Hub hub(size);
  std::vector<std::jthread> threads;
  for (int i = 0; i < size; ++i) {
    threads.emplace_back([&hub, &rank, i] {
      ThreadWorld world(hub, i);
      rank(world);
    });
  }
}

}  // namespace starling::mirror
