// starling-rank: one rank of a mirrored run (updates.exchange = "allreduce"), under mpirun or srun.
// Rank 0 reads the configuration, keeps the run directory and reports; the others get all that they
// need from it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/version.h"
#include "learner/apply/schedule.h"
#include "learner/learner.h"
#include "mirror/mpi_world.h"
#include "mirror/rank.h"
#include "programs/checks.h"
#include "programs/run_by_hand.h"
#include "results/initial_net.h"
#include "results/trained.h"

namespace {

using namespace starling;
using programs::RunOptions;

// Throws UserError unless this is a mirrored run of so many ranks.
void CheckRanks(const Config& config, int ranks) {
  if (config.updates.exchange != Exchange::kAllreduce) {
    throw UserError(
        "updates.exchange = \"learner\": such a run has a learner, which scripts/train starts; "
        "starling-rank is for \"allreduce\"");
  }
  if (config.actors.count == ranks) return;
  throw UserError(
      fmt::format("actors.count = {}, but MPI has started {} rank{}: start as many as "
                  "there are actors (mpirun -n {}), or set actors.count",
                  config.actors.count, ranks, ranks == 1 ? "" : "s", config.actors.count));
}

// The part of rank 0 that the others do not have.
struct Root {
  Config config;
  std::optional<mirror::HeldRun> run{};
  mirror::StartMessage message{};
};

// Reads the configuration and takes the run. Throws UserError.
Root Prepare(const RunOptions& options, int ranks, int stop_fd) {
  Root root{.config = programs::PrepareRun(
                options, [&](const Config& config) { CheckRanks(config, ranks); })};
  const Config& config = root.config;
  if (const std::string why = learner::WhyToWarmUp(config); !options.resume && !why.empty()) {
    LogWarn("{}", why);
  }
  wire::RuntimeDir::RemoveStale(wire::RuntimeRoot(config.wire.runtime_dir));
  root.run.emplace(mirror::HoldRun(config, options.run_dir));
  const auto net = options.resume ? results::InitialNetToResume(config, options.run_dir)
                                  : results::InitialNetOf(config);
  root.message = {
      .config = ToToml(config),
      .session = std::max(1u, static_cast<std::uint32_t>(std::random_device()())),
      .fingerprint = net.layout.fingerprint(),
      .exact = results::WhyNotExact(config).empty(),
      .redo = results::WhyNotReplayed(config).empty(),
      .start = learner::FindStart(config, net, options.run_dir, options.resume,
                                  learner::RoomWait(options.run_dir, stop_fd), options.restart)};
  return root;
}

// mpirun closes the descriptors of its ranks: the supervisor's pipe is opened again as mpirun has
// it. Throws std::runtime_error.
FileDescriptor OpenStatus(int status_fd) {
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getppid(), status_fd);
  FileDescriptor pipe(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (pipe.get() < 0) {
    throw std::runtime_error(
        fmt::format("cannot report to the supervisor through {}: {}", path, ErrorText(errno)));
  }
  return pipe;
}

// Trains with all ranks. `root`: rank 0's.
programs::LearnerEnd Train(mirror::MpiWorld& world, const mirror::StartMessage& message,
                           const Root* root, int stop_fd, learner::StatusReporter::Sinks sinks) {
  const Config config = ParseConfig(message.config, "the configuration of rank 0");
  // 1. Some environments take long to start.
  world.LimitWaits(std::max(config.staleness.deadline_s, config.wire.connect_timeout_s));
  mirror::Rank rank(world, config, results::LayoutOf(config), message, root ? &*root->run : nullptr,
                    {.stop_fd = stop_fd, .sinks = std::move(sinks)});
  // 2. Play. The buffers of an exchange that did not end must stay: no unwinding.
  world.LimitWaits(config.staleness.deadline_s);
  world.WhileWaiting([&] { rank.Beat(); });
  try {
    const bool over = rank.Run();
    world.WhileWaiting({});
    return {over, rank.checkpoint_error(), rank.gave_up()};
  } catch (const mirror::Overdue& error) {
    LogError("{}", error.what());
    mirror::Mpi::Abort(kExitFailed);
  }
}

// Rank 0: prepares the run, tells the others, trains, reports. Returns the exit status.
int RunRoot(mirror::MpiWorld& world, const RunOptions& options, int stop_fd) {
  // 1. A mistake of the operator ends the others, too: they get nothing to start from.
  std::optional<Root> root;
  mirror::Bytes start;
  try {
    if (options.resume && !options.supervised()) {
      if (const auto end = programs::RedoByHand(options.run_dir, stop_fd)) {
        world.Broadcast(start);
        return *end;
      }
    }
    root.emplace(Prepare(options, world.size(), stop_fd));
  } catch (const UserError& error) {
    options.supervised() ? LogError("{}", error.what()) : programs::PrintError(error.what());
    world.Broadcast(start);
    return kExitUserError;
  }
  start = mirror::Pack(root->message);
  world.Broadcast(start);
  // 2. Train, then report.
  const FileDescriptor status =
      options.supervised() ? OpenStatus(options.status_fd) : FileDescriptor();
  programs::Reports reports(root->config, options, status.get());
  return reports.SumUp(Train(world, root->message, &*root, stop_fd, reports.Sinks()));
}

int RunOther(mirror::MpiWorld& world, int stop_fd) {
  mirror::Bytes start;
  world.Broadcast(start);
  if (start.empty()) return kExitDone;  // rank 0 has said why
  Train(world, mirror::UnpackStart(start), nullptr, stop_fd, {});
  return kExitDone;
}

// A failure of one rank ends all.
int RunRank(const mirror::Mpi& mpi, const RunOptions& options, int stop_fd) {
  KeepFreedMemory();
  InitLog(mpi.rank() == 0 ? std::string("learner") : fmt::format("actor {}", mpi.rank()));
  mirror::MpiWorld world(mpi);
  try {
    return mpi.rank() == 0 ? RunRoot(world, options, stop_fd) : RunOther(world, stop_fd);
  } catch (const UserError& error) {
    LogError("{}", error.what());
    mirror::Mpi::Abort(kExitUserError);
  } catch (const learner::GaveUp& error) {
    LogError("{}", error.what());
    mirror::Mpi::Abort(options.supervised() ? kExitGaveUp : kExitFailed);
  } catch (const std::exception& error) {
    LogError("{}", error.what());
    mirror::Mpi::Abort(kExitFailed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  OccupyStandardDescriptors();
  RunOptions options;  // the parent is mpirun's, with which it ends
  CLI::App app(
      "One rank of a run without a learner: plays, and applies the updates of all ranks.\n"
      "Example: mpirun -n 8 starling-rank configs/spectrum/without_a_learner.toml --run-dir "
      "runs/mirrored",
      "starling-rank");
  app.set_version_flag("--version", VersionLine("starling-rank"));
  programs::AddOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return programs::Flushed("starling-rank", app.exit(error) == 0 ? kExitDone : kExitUserError);
  }
  // 1. Before MPI: no rank outlives the mpirun that started it, or dies of its signals. SIGUSR1 is
  //    one that mpirun passes on; at SIGINT and SIGTERM it kills its ranks.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);  // a supervisor that was killed must not cost the last checkpoint
  const int stop_fd = CatchStopSignals(/*again_ends=*/false, {SIGUSR1});
  // 2. The run.
  const mirror::Mpi mpi(&argc, &argv);
  return RunRank(mpi, options, stop_fd);
}
