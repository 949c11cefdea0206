#include <utility>  // Boost 1.74's Asio needs it first

#include "fleet/supervisor.h"

#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/child.h"
#include "core/clock.h"
#include "core/process.h"
#include "fleet/actor_command.h"
#include "fleet/child_output.h"
#include "fleet/fleet_file.h"
#include "fleet/pages_process.h"
#include "fleet/stop_signals.h"
#include "monitor/console.h"
#include "monitor/run_history.h"
#include "monitor/screen/screen.h"
#include "results/eval_results.h"
#include "results/run_dir.h"
#include "wire/runtime_dir.h"

namespace starling::fleet {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kTick = std::chrono::milliseconds(50);
constexpr std::size_t kMaxLogLine = 64 << 10, kMaxStatusLine = 1 << 20;

bool Ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::string NameOf(int slot) {
  if (slot == kLearnerSlot) return "learner";
  if (slot == kRedoSlot) return "redo";
  if (slot == kPagesSlot) return "pages";
  return slot == kEvaluatorSlot ? "evaluator" : fmt::format("actor {}", slot);
}

struct Process {
  int pid = -1;
  std::shared_ptr<LineReader> output, status;
  std::shared_ptr<EndReason> reason;  // of its output so far
  bool alive() const { return pid > 0; }
};

class Supervisor {
 public:
  Supervisor(const SupervisorOptions& options, RunLog& log, monitor::Console& console)
      : options_(options),
        log_(log),
        console_(console),
        policy_(options.limits, options.actors, options.facts.goal, options.resume,
                (options.run_dir / "log").string(), options.evaluates, options.pages.has_value()),
        history_(options.facts, options.actors, NowMs()),
        signals_(io_),
        tick_(io_),
        actors_(static_cast<std::size_t>(options.actors)) {
    if (!options.fleet_status.empty()) fleet_file_.emplace(options.fleet_status, log);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) signals_.add(signal);
    for (const int signal : {SIGHUP, SIGTSTP}) {
      if (!Ignored(signal)) signals_.add(signal);
    }
    ::signal(SIGPIPE, SIG_IGN);
    IgnoreFileSizeSignal();
  }

  // Only the pages are left, and after an exception others.
  ~Supervisor() {
    ForEachAlive([](int slot, Process& process) {
      slot == kPagesSlot ? EndPages(process.pid) : static_cast<void>(EndChild(process.pid, 0));
    });
  }

  SupervisorResult Run() {
    AwaitSignal();
    AwaitTick();
    Do(policy_.Start(NowMs()));
    if (!finish_) io_.run();
    LeaveProgress();
    return {finish_->exit_status, finish_->error, policy_.last_status(), policy_.counts()};
  }

 private:
  // Running time: after a suspended job no deadline is over.
  std::int64_t NowMs() const { return clock_.NowMs(); }

  template <class Function>
  void ForEachAlive(Function function) {
    if (learner_.alive()) function(kLearnerSlot, learner_);
    if (evaluator_.alive()) function(kEvaluatorSlot, evaluator_);
    if (redo_.alive()) function(kRedoSlot, redo_);
    if (pages_.alive()) function(kPagesSlot, pages_);
    for (std::size_t slot = 0; slot < actors_.size(); ++slot) {
      if (actors_[slot].alive()) function(static_cast<int>(slot), actors_[slot]);
    }
  }

  Process& At(int slot) {
    if (slot == kLearnerSlot) return learner_;
    if (slot == kRedoSlot) return redo_;
    if (slot == kPagesSlot) return pages_;
    return slot == kEvaluatorSlot ? evaluator_ : actors_[static_cast<std::size_t>(slot)];
  }

  // An action may cause an event (a program cannot be started), and the event further actions.
  void Do(const Actions& actions) {
    todo_.insert(todo_.end(), actions.begin(), actions.end());
    if (std::exchange(doing_, true)) return;
    while (!todo_.empty()) {
      const Action action = std::move(todo_.front());
      todo_.pop_front();
      std::visit([this](const auto& one) { Perform(one); }, action);
    }
    doing_ = false;
    if (finish_) io_.stop();
  }

  void Perform(const StartRedo&) {
    ChildSpec spec{.program = options_.redo_program,
                   .arguments = {"replay", options_.run_dir.string(), "--from-checkpoint",
                                 "--write", "--redo-s", fmt::format("{}", options_.redo_s),
                                 "--status-fd", std::to_string(kStatusFd)},
                   .status_pipe = true,
                   .death_signal = SIGKILL};
    if (learner_started_) spec.arguments.push_back("--restart");
    StartChild(kRedoSlot, std::move(spec));
  }

  void Perform(const StartLearner& start) {
    const bool restart = std::exchange(learner_started_, true);
    if (options_.before_learner && !restart) options_.before_learner();
    const LearnerCommand& learner = options_.learner;
    if (!learner.mpi_files.empty()) wire::RuntimeDir::Clear(learner.mpi_files);
    ChildSpec spec{.program = learner.program,
                   .arguments = learner.arguments,
                   .status_pipe = true,
                   // Not SIGKILL: if we are killed, the learner still writes its checkpoint.
                   .death_signal = learner.stop_signal,
                   .environment = learner.environment};
    spec.arguments.insert(spec.arguments.end(), {"--run-dir", options_.run_dir.string()});
    // It may have died before its first checkpoint.
    if (start.resume && results::HasCheckpoint(options_.run_dir))
      spec.arguments.push_back("--resume");
    if (restart && !learner.has_actors) spec.arguments.push_back("--restart");
    spec.arguments.insert(spec.arguments.end(), {"--status-fd", std::to_string(kStatusFd)});
    StartChild(kLearnerSlot, std::move(spec));
  }

  void Perform(const StartActor& start) {
    StartChild(start.slot, ActorSpecOf(options_, start.slot));
  }

  void Perform(const StartEvaluator& start) {
    ChildSpec spec{.program = options_.actor_program,
                   .arguments = {"--evaluate", "--run-dir", options_.run_dir.string()},
                   .status_pipe = false,
                   .death_signal = SIGKILL};
    if (start.finish) spec.arguments.push_back("--finish");
    results_before_ = results::ReadEvalLines(options_.run_dir).size();
    StartChild(kEvaluatorSlot, std::move(spec));
  }

  void Perform(const StartPages&) { StartChild(kPagesSlot, *options_.pages); }

  void Perform(const SendSignal& send) {
    const Process& process = At(send.slot);
    if (!process.alive()) return;
    const bool asks = send.slot == kLearnerSlot && send.signal == SIGTERM;
    const int signal = asks ? options_.learner.stop_signal : send.signal;
    // SIGKILL also goes to the child's own children (the kernel sends it to ranks when their mpirun
    // dies); after SIGTERM the child ends them itself. A wrapper of the user's may not.
    const bool own = send.slot >= 0 && !options_.own_actor.empty();
    ::kill(signal == SIGKILL || own ? -process.pid : process.pid, signal);
  }

  void Perform(const Log& line) {
    log_.Log(line.level, line.text);
    if (line.on_screen) console_.Print(line.text);
  }
  void Perform(const Finish& finish) { finish_ = finish; }

  void StartChild(int slot, ChildSpec spec) {
    // 1. Start it.
    if (slot < 0 && slot != kPagesSlot) {
      spec.arguments.insert(spec.arguments.end(), {"--parent", std::to_string(::getpid())});
    }
    Spawned child = Spawn(spec);
    if (child.pid < 0) {
      Ended(slot, -1, {ChildExit::How::kNotStarted, child.error}, "");
      return;
    }
    log_.Log(LogLevel::kInfo, fmt::format("{} started, pid {}", NameOf(slot), child.pid));

    // 2. Read its output into the log, and its status lines.
    Process& process = At(slot);
    process.pid = child.pid;
    process.reason = std::make_shared<EndReason>();
    process.output =
        std::make_shared<LineReader>(io_, child.output.Release(), kMaxLogLine,
                                     [this, reason = process.reason](std::string_view line) {
                                       log_.FromChild(line);
                                       reason->Add(line);
                                     });
    process.output->Start();
    if (child.status.get() < 0) return;
    process.status = std::make_shared<LineReader>(
        io_, child.status.Release(), kMaxStatusLine, [this, slot](std::string_view line) {
          slot == kRedoSlot ? OnRedoLine(line) : OnStatusLine(line);
        });
    process.status->Start();
  }

  void OnRedoLine(std::string_view line) {
    const std::optional<monitor::RedoStatus> status = monitor::ParseRedoStatus(line);
    if (status) Do(policy_.OnRedoStatus(NowMs(), *status));
  }

  void OnStatusLine(std::string_view line) {
    // 1. Check it. Each kind of defect is logged once.
    const std::optional<learner::RunStatus> status = learner::ParseStatus(line);
    if (!status) {
      if (!std::exchange(reported_torn_, true)) {
        log_.Log(LogLevel::kInfo,
                 fmt::format("a status line is not understood: {}", line.substr(0, 200)));
      }
      return;
    }
    const learner::GradientStatus& gradients = status->gradients;
    if (!gradients.AddUp() && !std::exchange(reported_sum_, true)) {
      log_.Log(LogLevel::kError,
               fmt::format("the learner's count of gradients does not add up: {} received, {} "
                           "applied, {} dropped, {} in flight",
                           gradients.received, gradients.applied, gradients.dropped_total(),
                           gradients.in_flight));
    }
    // 2. Show it, and act on it.
    history_.Add(NowMs(), *status);
    Do(policy_.OnStatus(NowMs(), *status));
  }

  void ReapAll() {
    ForEachAlive([this](int slot, Process& process) {
      const std::optional<ChildExit> exit = Reap(process.pid);
      if (!exit) return;
      // Of a program of the user's, a wrapper may have left others behind.
      if (slot >= 0 && !options_.own_actor.empty()) ::kill(-process.pid, SIGKILL);
      // Its last lines first: they hold the reason.
      const Process dead = std::exchange(process, {});
      dead.output->Drain();
      if (dead.status) dead.status->Drain();
      Ended(slot, dead.pid, *exit, dead.reason->text());
    });
  }

  void Ended(int slot, int pid, const ChildExit& exit, const std::string& reason) {
    if (slot == kLearnerSlot) {
      Do(policy_.OnLearnerExit(NowMs(), pid, options_.learner.EndOf(exit), reason));
    } else if (slot == kRedoSlot) {
      Do(policy_.OnRedoExit(NowMs(), pid, exit, reason));
    } else if (slot == kPagesSlot) {
      Do(policy_.OnPagesExit(NowMs(), pid, exit));
    } else if (slot == kEvaluatorSlot) {
      const bool results = results::ReadEvalLines(options_.run_dir).size() > results_before_;
      Do(policy_.OnEvaluatorExit(NowMs(), pid, exit, results));
    } else {
      Do(policy_.OnActorExit(NowMs(), slot, pid, exit, reason));
    }
  }

  void AwaitSignal() {
    signals_.async_wait([this](error_code error, int signal) {
      if (error) return;
      if (signal == SIGCHLD) {
        ReapAll();
      } else if (signal == SIGTSTP) {
        Pause();
      } else {
        Do(policy_.OnStopSignal(NowMs(), signal));
      }
      AwaitSignal();
    });
  }

  // Ctrl-Z reaches only us. Children that go on would in the end wait for a reader of their pipes.
  void Pause() {
    const auto signal_all = [this](int signal) {
      ForEachAlive([&](int slot, const Process& process) {
        if (slot == kLearnerSlot && !options_.learner.has_actors) {
          for (const int rank : ChildrenOf(process.pid)) ::kill(rank, signal);
        }
        ::kill(-process.pid, signal);
      });
    };
    console_.Clear();
    log_.Log(LogLevel::kInfo, "stopped by SIGTSTP, with all processes");
    signal_all(SIGSTOP);
    ::kill(::getpid(), SIGSTOP);  // returns after a SIGCONT
    signal_all(SIGCONT);
    log_.Log(LogLevel::kInfo, "going on after SIGCONT");
    console_.Hurry();
  }

  void AwaitTick() {
    tick_.expires_after(kTick);
    tick_.async_wait([this](error_code error) {
      if (error) return;
      clock_.Tick();
      ReapAll();  // one signal may stand for two deaths
      Do(policy_.Tick(NowMs()));
      if (!finish_) ShowProgress();
      if (fleet_file_) fleet_file_->Write(NowMs(), policy_);
      AwaitTick();
    });
  }

  void ShowProgress() {
    const std::int64_t now = NowMs();
    history_.SetSilent(policy_.learner_silent());
    history_.SetRedo(policy_.redo());
    if (!options_.screen || !console_.terminal()) return console_.Show(history_.progress(), now);
    const auto draw = [&](const monitor::ProgressStyle& style) {
      const monitor::RunView view = history_.View(now, policy_.processes(), policy_.over());
      std::vector<std::string> lines = monitor::ScreenLines(view, style);
      on_screen_ = !lines.empty();
      if (lines.empty()) lines.push_back(monitor::ProgressBar(view.progress, style));
      return lines;
    };
    console_.DrawLines(draw, now);
  }

  // Leaves the last state of a screen above the summary, unless it was empty.
  void LeaveProgress() {
    const auto& status = policy_.last_status();
    if (!on_screen_ || !status || status->steps == 0) return console_.Clear();
    console_.Hurry();
    ShowProgress();
    console_.Keep();
  }

  const SupervisorOptions& options_;
  RunLog& log_;
  monitor::Console& console_;
  const SteadyClock steady_clock_;
  RunningClock clock_{steady_clock_};
  SupervisorPolicy policy_;
  monitor::RunHistory history_;
  bool on_screen_ = false;  // the last drawing was the screen, not the bar
  asio::io_context io_;
  asio::signal_set signals_;
  asio::steady_timer tick_;
  std::optional<FleetFile> fleet_file_;
  Process learner_, evaluator_, redo_, pages_;
  bool learner_started_ = false;
  std::size_t results_before_ = 0;  // lines of eval.jsonl at the evaluator's start
  std::vector<Process> actors_;
  std::deque<Action> todo_;
  bool doing_ = false;
  bool reported_torn_ = false, reported_sum_ = false;
  std::optional<Finish> finish_;
};

}  // namespace

SupervisorResult Supervise(const SupervisorOptions& options, RunLog& log,
                           monitor::Console& console) {
  Supervisor supervisor(options, log, console);
  // The handlers are in place: signals that were blocked arrive now.
  const sigset_t stop = StopSignals();
  sigset_t before;
  CHECK(::sigprocmask(SIG_UNBLOCK, &stop, &before) == 0);
  SupervisorResult result = supervisor.Run();
  CHECK(::sigprocmask(SIG_SETMASK, &before, nullptr) == 0);
  return result;
}

}  // namespace starling::fleet
