// A GPU for machines without one: memory that the host must not touch, and work that is only done
// when the host waits for it. Work is a closure; a test finds the mistakes of code for a GPU:
//   - a load or a store by the host crashes, because the memory is closed while nothing runs;
//   - a result that was not waited for is not there, and a source may have changed before it is
//     read; with Pace::kAtOnce, a result that is still wanted may be overwritten by later work;
//   - both ends of a copy must lie on the sides it names, on the host where a GPU can reach it;
//   - allocating, freeing or waiting while a graph is recorded fails the test.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "core/gpu.h"

namespace starling {

class FakeGpu final : public Gpu {
 public:
  // The time of one piece of work, by its watches: of one loop, copy or repetition.
  static constexpr std::int64_t kNsOfWork = 1000;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  // When work is done: as late as possible, or as soon.
  enum class Pace : std::uint8_t { kWhenWaitedFor, kAtOnce };

  // `limit`: bytes, beyond which an allocation fails.
  explicit FakeGpu(std::size_t limit = kNoLimit, Pace pace = Pace::kWhenWaitedFor)
      : pace_(pace),
        info_{.name = "loops", .memory = limit, .major = 9, .minor = 0, .multiprocessors = 1},
        memory_(*this) {}
  ~FakeGpu() override { EXPECT_EQ(memory_.arrays(), 0u) << "arrays that nobody freed"; }

  const GpuInfo& info() const override { return info_; }
  Memory& memory() override { return memory_; }
  void* stream() override { return this; }

  // To be done at the next Wait, and once for each time that it is repeated.
  void Ask(std::function<void()> work) {
    if (recording_ != nullptr) return recording_->push_back(std::move(work));
    queue_.push_back(std::move(work));
    ++asked_;
    if (pace_ == Pace::kAtOnce) DoUntil(asked_);
  }

  void Repeat(int id, const std::function<void()>& work) override {
    EXPECT_EQ(recording_, nullptr) << "a Repeat within another";
    const auto [at, first] = graphs_.try_emplace(id);
    if (first) return work();
    if (at->second == nullptr) Record(at->second, work);
    ++replays_;
    Ask([graph = at->second] {
      for (const auto& step : *graph) step();
    });
  }

  std::unique_ptr<GpuWatch> MakeWatch() override { return std::make_unique<Watch>(*this); }

  int recordings() const { return recordings_; }
  int waits() const { return waits_; }                   // for work
  std::size_t pending() const { return queue_.size(); }  // pieces of work that are not done
  int replays() const { return replays_; }               // also the one that follows a recording
  std::size_t allocated() const { return memory_.allocated(); }  // bytes

 private:
  using Steps = std::vector<std::function<void()>>;

  // A tick itself takes no time.
  class Watch final : public GpuWatch {
   public:
    explicit Watch(FakeGpu& gpu) : gpu_(gpu) {}
    ~Watch() override { gpu_.memory_.Wait(); }
    void Tick() override {
      EXPECT_EQ(gpu_.recording_, nullptr) << "a tick within a Repeat";
      ++asked_;
      gpu_.Ask([this] {
        gpu_.now_ns_ -= kNsOfWork;
        ticks_ns_.push_back(gpu_.now_ns_);
      });
      last_ = gpu_.asked_;
    }
    void Wait() override { gpu_.DoUntil(last_); }
    std::vector<std::int64_t> TakeNs() override {
      EXPECT_EQ(ticks_ns_.size(), std::exchange(asked_, 0u)) << "the work was not waited for";
      std::vector<std::int64_t> all;
      for (std::size_t i = 1; i < ticks_ns_.size(); ++i) {
        all.push_back(ticks_ns_[i] - ticks_ns_[i - 1]);
      }
      ticks_ns_.clear();
      return all;
    }

   private:
    FakeGpu& gpu_;
    std::uint64_t last_ = 0;  // pieces of work up to its last tick
    std::size_t asked_ = 0;
    std::vector<std::int64_t> ticks_ns_;
  };

  class PlainMemory final : public HostSideMemory {
   public:
    void* Allocate(std::size_t bytes) override {
      void* const data = HostMemory().Allocate(bytes);
      arrays_[data] = bytes;
      return data;
    }
    void Free(void* data) noexcept override {
      if (data != nullptr) arrays_.erase(data);
      HostMemory().Free(data);
    }
    bool Has(const void* place) const {
      const auto behind = arrays_.upper_bound(const_cast<void*>(place));
      if (behind == arrays_.begin()) return false;
      const auto& [data, bytes] = *std::prev(behind);
      return place < static_cast<const std::byte*>(data) + bytes;
    }

   private:
    std::map<void*, std::size_t> arrays_;
  };

  class ClosedMemory final : public Memory {
   public:
    explicit ClosedMemory(FakeGpu& gpu) : gpu_(gpu) {}

    bool on_host() const override { return false; }
    Memory& host_side() override { return host_side_; }

    void* Allocate(std::size_t bytes) override {
      EXPECT_EQ(gpu_.recording_, nullptr) << "allocated while a graph is recorded";
      if (bytes > gpu_.info_.memory - allocated_) {
        throw UserError(fmt::format("the GPU: allocating {:.2f} GiB failed (out of memory): {}",
                                    static_cast<double>(bytes) / (1024.0 * 1024 * 1024),
                                    kGpuMemoryFull));
      }
      const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
      const std::size_t length = (bytes / page + 1) * page;
      void* const data =
          mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      CHECK(data != MAP_FAILED, "mmap of {} bytes", length);
      arrays_[data] = {length, bytes};
      allocated_ += bytes;
      return data;
    }
    void Free(void* data) noexcept override {
      EXPECT_EQ(gpu_.recording_, nullptr) << "freed while a graph is recorded";
      Wait();
      const auto array = arrays_.find(data);
      CHECK(array != arrays_.end(), "freed, but never allocated");
      munmap(data, array->second.length);
      allocated_ -= array->second.bytes;
      arrays_.erase(array);
    }

    void Clear(void* to, std::size_t bytes) override {
      if (bytes > 0) gpu_.Ask([=] { std::memset(to, 0, bytes); });
    }
    void Copy(void* to, const void* from, std::size_t bytes) override {
      Move(to, Has(to), from, Has(from), bytes);
    }
    void Write(void* to, const void* from, std::size_t bytes) override {
      Move(to, Has(to), from, host_side_.Has(from), bytes);
    }
    void Read(void* to, const void* from, std::size_t bytes) override {
      Move(to, host_side_.Has(to), from, Has(from), bytes);
    }

    void Wait() override { gpu_.DoUntil(gpu_.asked_); }
    void Open() { Protect(PROT_READ | PROT_WRITE); }
    void Close() { Protect(PROT_NONE); }

    std::size_t allocated() const { return allocated_; }
    std::size_t arrays() const { return arrays_.size(); }

   private:
    struct Array {
      std::size_t length, bytes;  // mapped, asked for
    };
    bool Has(const void* place) const {
      const auto behind = arrays_.upper_bound(const_cast<void*>(place));
      if (behind == arrays_.begin()) return false;
      const auto& [data, array] = *std::prev(behind);
      return place < static_cast<const std::byte*>(data) + array.length;
    }
    void Move(void* to, bool to_is_right, const void* from, bool from_is_right, std::size_t bytes) {
      if (bytes == 0) return;
      if (!to_is_right || !from_is_right) {
        ADD_FAILURE() << "moved from or to the other memory's array";
        return;
      }
      gpu_.Ask([=] { std::memmove(to, from, bytes); });
    }
    void Protect(int protection) {
      for (const auto& [data, array] : arrays_) {
        CHECK(mprotect(data, array.length, protection) == 0, "mprotect");
      }
    }

    FakeGpu& gpu_;
    PlainMemory host_side_;
    std::map<void*, Array> arrays_;
    std::size_t allocated_ = 0;
  };

  // Does the first `count` of all pieces of work, and no later ones.
  void DoUntil(std::uint64_t count) {
    EXPECT_EQ(recording_, nullptr) << "waited while a graph is recorded";
    const std::uint64_t done = asked_ - queue_.size();
    if (count <= done) return;
    ++waits_;
    memory_.Open();
    for (std::uint64_t left = count - done; left > 0; --left) {
      const auto step = std::move(queue_.front());
      queue_.pop_front();
      now_ns_ += kNsOfWork;
      step();
    }
    memory_.Close();
  }

  void Record(std::shared_ptr<Steps>& graph, const std::function<void()>& work) {
    graph = std::make_shared<Steps>();
    recording_ = graph.get();
    work();
    recording_ = nullptr;
    ++recordings_;
  }

  const Pace pace_;
  const GpuInfo info_;
  ClosedMemory memory_;
  std::deque<std::function<void()>> queue_;
  std::uint64_t asked_ = 0;  // pieces of work so far, those that are done included
  Steps* recording_ = nullptr;
  std::map<int, std::shared_ptr<Steps>> graphs_;  // null: done once, not yet recorded
  int recordings_ = 0, replays_ = 0, waits_ = 0;
  std::int64_t now_ns_ = 0;
};

}  // namespace starling
