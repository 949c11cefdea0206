// A GPU for machines without one: memory that the host must not touch, and work that is only done
// when the host waits for it. Work is a closure; a test finds the mistakes of code for a GPU:
//   - a load or a store by the host crashes, because the memory is closed while nothing runs;
//   - a result that was not waited for is not there, and a source may have changed before it is
//     read;
//   - both ends of a copy must lie on the sides it names, on the host where a GPU can reach it;
//   - allocating, freeing or waiting while a graph is recorded fails the test.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
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

  // `limit`: bytes, beyond which an allocation fails.
  explicit FakeGpu(std::size_t limit = kNoLimit)
      : info_{.name = "loops", .memory = limit, .major = 9, .minor = 0, .multiprocessors = 1},
        memory_(*this) {}
  ~FakeGpu() override { EXPECT_EQ(memory_.arrays(), 0u) << "arrays that nobody freed"; }

  const GpuInfo& info() const override { return info_; }
  Memory& memory() override { return memory_; }
  void* stream() override { return this; }

  // To be done at the next Wait, and once for each time that it is repeated.
  void Ask(std::function<void()> work) {
    (recording_ != nullptr ? *recording_ : queue_).push_back(std::move(work));
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
  int waits() const { return waits_; }      // for work
  int replays() const { return replays_; }  // also the one that follows a recording
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
      gpu_.Ask([this] {
        gpu_.now_ns_ -= kNsOfWork;
        sum_ns_ += std::exchange(first_, !first_) ? -gpu_.now_ns_ : gpu_.now_ns_;
      });
    }
    std::int64_t TakeNs() override {
      EXPECT_TRUE(gpu_.queue_.empty()) << "the work was not waited for";
      return std::exchange(sum_ns_, 0);
    }

   private:
    FakeGpu& gpu_;
    bool first_ = true;
    std::int64_t sum_ns_ = 0;
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

    void Wait() override {
      EXPECT_EQ(gpu_.recording_, nullptr) << "waited while a graph is recorded";
      if (gpu_.queue_.empty()) return;
      Protect(PROT_READ | PROT_WRITE);
      ++gpu_.waits_;
      const Steps queue = std::exchange(gpu_.queue_, {});
      for (const auto& step : queue) {
        gpu_.now_ns_ += kNsOfWork;
        step();
      }
      Protect(PROT_NONE);
    }

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

  void Record(std::shared_ptr<Steps>& graph, const std::function<void()>& work) {
    graph = std::make_shared<Steps>();
    recording_ = graph.get();
    work();
    recording_ = nullptr;
    ++recordings_;
  }

  const GpuInfo info_;
  ClosedMemory memory_;
  Steps queue_;
  Steps* recording_ = nullptr;
  std::map<int, std::shared_ptr<Steps>> graphs_;  // null: done once, not yet recorded
  int recordings_ = 0, replays_ = 0, waits_ = 0;
  std::int64_t now_ns_ = 0;
};

}  // namespace starling
