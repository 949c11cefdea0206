// The ranks of an MPI job. Waiting polls: a rank that has a core of its own yields between looks
// for two milliseconds, because large messages advance only when both sides look. Then, and where
// ranks share cores, it sleeps, so that ranks that wait leave their cores to those that play.
//
// Thread safety: none; one thread.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "mirror/world.h"

namespace starling::mirror {

// MPI from here to the end of the object. REQUIRES: one in a process.
class Mpi {
 public:
  Mpi(int* argc, char*** argv);
  ~Mpi();  // waits for the other ranks
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Ends all ranks, this one, too.
  [[noreturn]] static void Abort(int exit_status);

 private:
  int rank_ = 0, size_ = 1;
};

class MpiWorld final : public World {
 public:
  explicit MpiWorld(const Mpi& mpi);

  // From now on other ranks are waited for so long. 0: forever.
  void LimitWaits(double seconds) { deadline_s_ = seconds; }
  // `beat` is called now and then while other ranks are waited for.
  void WhileWaiting(std::function<void()> beat) { beat_ = std::move(beat); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<Bytes> Share(std::span<const std::byte> mine) override;
  std::vector<Bytes> Collect(std::span<const std::byte> mine) override;
  void Broadcast(Bytes& bytes) override;
  void Spread(const std::byte* whole, std::span<const wire::Slice> slices, std::byte* parts,
              std::size_t width) override;
  void Join(std::byte* whole, std::span<const wire::Slice> slices, std::size_t width) override;

 private:
  std::vector<Bytes> Receive(std::span<const std::byte> mine, std::vector<MPI_Request>& sent);
  void Await(std::vector<MPI_Request>& requests);
  void AwaitUntil(const std::function<bool()>& done, const std::function<std::string()>& late);

  const int rank_, size_;
  const double yield_s_;  // so long a wait yields, at least
  const SteadyClock steady_clock_;
  RunningClock clock_{steady_clock_};
  double deadline_s_ = 0;
  std::function<void()> beat_;
  int tag_ = 0;  // of the messages of this call of Share or Collect: another for each
};

}  // namespace starling::mirror
