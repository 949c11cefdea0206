// The queue from the network thread to a lane: a bounded ring without locks, and a Parker on which
// a thread sleeps while its queue is empty.
//
// Thread safety of the ring: one thread pushes, one thread pops. Either role may move to another
// thread if something else orders the hand-over.
// Invariants: head_ <= tail_ <= head_ + Capacity; slots [head_, tail_) belong to the consumer, the
// others to the producer; head_ is written by the consumer only, tail_ by the producer only. Both
// only grow (64 bits do not wrap); the slot is the low bits.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace starling::learner {

inline constexpr std::size_t kCacheLine = 64;

template <class T, std::size_t Capacity>
class SpscRing {
  static_assert(std::has_single_bit(Capacity), "the slot is the low bits of a counter");

 public:
  // Producer. Returns false if the ring is full: the item was not taken.
  bool TryPush(T item) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // only we write it
    if (tail - cached_head_ == Capacity) {
      // Partner: the release store in TryPop; its reads of the slot end before it is overwritten.
      cached_head_ = head_.load(std::memory_order_acquire);
      if (tail - cached_head_ == Capacity) return false;
    }
    slots_[tail % Capacity] = std::move(item);
    tail_.store(tail + 1, std::memory_order_release);  // partner: the acquire load in TryPop
    return true;
  }

  // Consumer. Returns false if the ring is empty: `item` is unchanged.
  bool TryPop(T& item) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // ours
    if (head == cached_tail_) {
      // Partner: the release store in TryPush; it makes the slot's content visible.
      cached_tail_ = tail_.load(std::memory_order_acquire);
      if (head == cached_tail_) return false;
    }
    item = std::move(slots_[head % Capacity]);
    head_.store(head + 1, std::memory_order_release);  // partner: the acquire load in TryPush
    return true;
  }

 private:
  // The cache line of each side holds its own counter and its last copy of the other's.
  alignas(kCacheLine) std::atomic<std::uint64_t> head_{0};
  std::uint64_t cached_tail_ = 0;  // consumer's
  alignas(kCacheLine) std::atomic<std::uint64_t> tail_{0};
  std::uint64_t cached_head_ = 0;  // producer's
  alignas(kCacheLine) std::array<T, Capacity> slots_{};
};

// Threads sleep on a Parker until there may be work. A sleeper takes a ticket, looks for work, and
// parks on the ticket if there is none. A Wake after the ticket makes Park return at once, so no
// wake-up is lost.
//
//   sleeper: ticket = Ticket(); if (!ring.TryPop(x)) Park(ticket);
//   waker:   ring.TryPush(x); Wake();
//
// It uses a futex. std::atomic::wait yields before it sleeps; with more threads than cores, each
// yield lets all other threads run first, and the thread cannot be woken in between.
//
// Thread safety: any number of sleepers and wakers. A Wake wakes at least one of several sleepers,
// so call it once for each piece of work.
class Parker {
 public:
  // Partner: the increment in Wake. If the ticket includes a Wake, the work before that Wake is
  // visible to the sleeper; if it does not, Park returns at once.
  std::uint32_t Ticket() const { return wakes_.load(std::memory_order_acquire); }

  // May return without a Wake.
  void Park(std::uint32_t ticket) {
    // Partner: increment, then load, in Wake. Both are sequentially consistent, so at least one
    // side sees the other's increment.
    sleepers_.fetch_add(1);
    // The kernel sleeps only if wakes_ still equals the ticket.
    if (wakes_.load() == ticket) Futex(FUTEX_WAIT_PRIVATE, ticket);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  void Wake() {
    wakes_.fetch_add(1);
    if (sleepers_.load() > 0) Futex(FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
                sizeof(std::atomic<std::uint32_t>) == 4);

  void Futex(int operation, std::uint32_t value) {
    ::syscall(SYS_futex, &wakes_, operation, value, nullptr, nullptr, 0);
  }

  alignas(kCacheLine) std::atomic<std::uint32_t> wakes_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace starling::learner
