// What carries updates from the network thread to a lane: a bounded ring without locks, and a
// Parker on which a thread sleeps while there is nothing for it.
//
// Thread safety of the ring: one thread pushes, one thread pops; they may be different threads over
// time if something else orders the hand-over.
// Invariants: head_ <= tail_ <= head_ + Capacity; slots [head_, tail_) belong to the consumer, the
// others to the producer; head_ is written by the consumer only, tail_ by the producer only. Both
// count for ever (64 bits do not wrap), the slot is the low bits.
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
  // Producer. False if full: the item was not taken.
  bool TryPush(T item) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // ours
    if (tail - cached_head_ == Capacity) {
      // Partner: the release store in TryPop; its reads of the slot end before we overwrite it.
      cached_head_ = head_.load(std::memory_order_acquire);
      if (tail - cached_head_ == Capacity) return false;
    }
    slots_[tail % Capacity] = std::move(item);
    tail_.store(tail + 1, std::memory_order_release);  // partner: the acquire load in TryPop
    return true;
  }

  // Consumer. False if empty: `item` is untouched.
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
  // Each side's line holds its own counter and what it last saw of the other's.
  alignas(kCacheLine) std::atomic<std::uint64_t> head_{0};
  std::uint64_t cached_tail_ = 0;  // consumer's
  alignas(kCacheLine) std::atomic<std::uint64_t> tail_{0};
  std::uint64_t cached_head_ = 0;  // producer's
  alignas(kCacheLine) std::array<T, Capacity> slots_{};
};

// Where threads sleep until there may be something to do. A sleeper asks for a ticket, looks for
// work, and parks on the ticket if there is none: a Wake between the two makes the Park return at
// once, so no wake-up is lost.
//
//   sleeper: ticket = Ticket(); if (!ring.TryPop(x)) Park(ticket);
//   waker:   ring.TryPush(x); Wake();
//
// A futex and not std::atomic::wait, which yields before it sleeps: on a machine with more threads
// than cores each yield is a turn of all the others, in which it cannot be woken.
//
// Thread safety: any number of sleepers and wakers; of several sleepers a Wake wakes at least one,
// so that is how much work it may stand for.
class Parker {
 public:
  // Partner: the increment in Wake. Work made before a Wake that the ticket has seen is found by
  // looking; a Wake that it has not seen makes Park return.
  std::uint32_t Ticket() const { return wakes_.load(std::memory_order_acquire); }

  // May return without a Wake.
  void Park(std::uint32_t ticket) {
    sleepers_.fetch_add(1);  // partner: the load in Wake; one of the two sees what the other wrote
    if (wakes_.load() == ticket) Futex(FUTEX_WAIT_PRIVATE, ticket);  // not if it has changed since
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
