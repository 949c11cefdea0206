#include "mirror/mpi_world.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "core/check.h"

namespace starling::mirror {

namespace {

constexpr double kYieldS = 2e-3;
constexpr int kTags = 1 << 14;           // MPI has at least twice as many
constexpr std::size_t kPiece = 1 << 30;  // bytes of a broadcast at once: a count is an int

MPI_Datatype Element(std::size_t width) {
  CHECK(width == 2 || width == 4, "elements of {} bytes", width);
  return width == 2 ? MPI_UINT16_T : MPI_FLOAT;
}

int Count(std::size_t size) {
  CHECK(size <= static_cast<std::size_t>(std::numeric_limits<int>::max()), "{} elements", size);
  return static_cast<int>(size);
}

// What Ialltoallv and Iallgatherv call counts and displacements.
struct Layout {
  std::vector<int> counts, offsets;
  void Add(std::size_t count, std::size_t offset) {
    counts.push_back(Count(count)), offsets.push_back(Count(offset));
  }
};

Layout LayoutOfSlices(std::span<const wire::Slice> slices) {
  Layout layout;
  for (const wire::Slice& slice : slices) layout.Add(slice.size, slice.begin);
  return layout;
}

// Collective: whether the ranks of this machine have a core each, of all that they may use. A quota
// of processor time is not seen.
bool HaveCores() {
  MPI_Comm here;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int ranks = 1;
  MPI_Comm_size(here, &ranks);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  MPI_Allreduce(MPI_IN_PLACE, &cores, sizeof cores, MPI_BYTE, MPI_BOR, here);
  MPI_Comm_free(&here);
  return ranks <= CPU_COUNT(&cores);
}

}  // namespace

Mpi::Mpi(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  CHECK(provided >= MPI_THREAD_FUNNELED, "this MPI allows no threads");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

Mpi::~Mpi() { MPI_Finalize(); }

void Mpi::Abort(int exit_status) {
  MPI_Abort(MPI_COMM_WORLD, exit_status);
  std::_Exit(exit_status);
}

// ---- waiting

MpiWorld::MpiWorld(const Mpi& mpi)
    : rank_(mpi.rank()), size_(mpi.size()), yield_s_(HaveCores() ? kYieldS : 0) {}

void MpiWorld::AwaitUntil(const std::function<bool()>& done,
                          const std::function<std::string()>& late) {
  using std::chrono::microseconds;
  constexpr double kBeatS = 0.05;
  constexpr int kYields = 20;  // before the first sleep, at least
  constexpr microseconds kShortest{20}, kLongest{500};
  clock_.Tick();
  const std::int64_t begin_ns = clock_.NowNs();
  microseconds pause = kShortest;
  double beat_s = kBeatS;
  for (int looks = 0; !done(); ++looks) {
    clock_.Tick();
    const double waited_s = static_cast<double>(clock_.NowNs() - begin_ns) / 1e9;
    if (deadline_s_ > 0 && waited_s > deadline_s_) {
      throw Overdue(fmt::format("{} for {} s (staleness.deadline_s)", late(), deadline_s_));
    }
    if (beat_ && waited_s >= beat_s) {
      beat_();
      beat_s = waited_s + kBeatS;
    }
    if (looks < kYields || waited_s < yield_s_) {
      sched_yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongest);
  }
}

void MpiWorld::Await(std::vector<MPI_Request>& requests) {
  AwaitUntil(
      [&] {
        int done = 0;
        MPI_Testall(Count(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
        return done != 0;
      },
      [] { return std::string("an exchange with the other ranks was not finished"); });
}

// ---- small messages, of any size

// Receives one message from every other rank. `mine` takes the place of this rank's own.
std::vector<Bytes> MpiWorld::Receive(std::span<const std::byte> mine,
                                     std::vector<MPI_Request>& sent) {
  std::vector<Bytes> all(static_cast<std::size_t>(size_));
  all[static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
  std::set<int> missing;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_) missing.insert(rank);
  }
  std::vector<MPI_Request> requests = std::move(sent);
  AwaitUntil(
      [&] {
        while (!missing.empty()) {
          int here = 0, bytes = 0;
          MPI_Message message;
          MPI_Status status;
          MPI_Improbe(MPI_ANY_SOURCE, tag_, MPI_COMM_WORLD, &here, &message, &status);
          if (here == 0) return false;
          MPI_Get_count(&status, MPI_BYTE, &bytes);
          Bytes& to = all[static_cast<std::size_t>(status.MPI_SOURCE)];
          to.resize(static_cast<std::size_t>(bytes));
          MPI_Imrecv(to.data(), bytes, MPI_BYTE, &message, &requests.emplace_back());
          missing.erase(status.MPI_SOURCE);
        }
        return true;
      },
      [&] {
        std::string names;
        for (const int rank : missing) names += (names.empty() ? "" : ", ") + std::to_string(rank);
        return missing.size() == 1 ? "rank " + names + " has not answered"
                                   : "ranks " + names + " have not answered";
      });
  Await(requests);
  return all;
}

std::vector<Bytes> MpiWorld::Share(std::span<const std::byte> mine) {
  tag_ = (tag_ + 1) % kTags;
  std::vector<MPI_Request> sent;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    MPI_Isend(mine.data(), Count(mine.size()), MPI_BYTE, rank, tag_, MPI_COMM_WORLD,
              &sent.emplace_back());
  }
  return Receive(mine, sent);
}

std::vector<Bytes> MpiWorld::Collect(std::span<const std::byte> mine) {
  tag_ = (tag_ + 1) % kTags;
  std::vector<MPI_Request> sent;
  if (rank_ == 0) return Receive(mine, sent);
  MPI_Isend(mine.data(), Count(mine.size()), MPI_BYTE, 0, tag_, MPI_COMM_WORLD,
            &sent.emplace_back());
  Await(sent);
  return {};
}

void MpiWorld::Broadcast(Bytes& bytes) {
  const double deadline_s = std::exchange(deadline_s_, 0);
  std::vector<MPI_Request> request(1);
  std::uint64_t size = bytes.size();
  MPI_Ibcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, request.data());
  Await(request);
  bytes.resize(size);
  for (std::size_t at = 0; at < size; at += kPiece) {
    MPI_Ibcast(bytes.data() + at, Count(std::min<std::size_t>(kPiece, size - at)), MPI_BYTE, 0,
               MPI_COMM_WORLD, request.data());
    Await(request);
  }
  deadline_s_ = deadline_s;
}

// ---- slices

void MpiWorld::Spread(const std::byte* whole, std::span<const wire::Slice> slices, std::byte* parts,
                      std::size_t width) {
  const Layout to = LayoutOfSlices(slices);
  const std::size_t own = slices[static_cast<std::size_t>(rank_)].size;
  Layout from;
  for (std::size_t rank = 0; rank < slices.size(); ++rank) from.Add(own, rank * own);
  std::vector<MPI_Request> request(1);
  MPI_Ialltoallv(whole, to.counts.data(), to.offsets.data(), Element(width), parts,
                 from.counts.data(), from.offsets.data(), Element(width), MPI_COMM_WORLD,
                 request.data());
  Await(request);
}

void MpiWorld::Join(std::byte* whole, std::span<const wire::Slice> slices, std::size_t width) {
  const Layout from = LayoutOfSlices(slices);
  std::vector<MPI_Request> request(1);
  MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole, from.counts.data(),
                  from.offsets.data(), Element(width), MPI_COMM_WORLD, request.data());
  Await(request);
}

}  // namespace starling::mirror
