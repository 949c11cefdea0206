#include "fleet/eval_process.h"

#include <poll.h>

#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "actors/evaluator.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/log.h"
#include "core/tensorboard.h"
#include "fleet/live_weights.h"
#include "learner/storage/checkpoint.h"
#include "results/eval_results.h"
#include "results/initial_net.h"
#include "results/trained.h"
#include "wire/runtime_dir.h"

namespace starling::fleet {
namespace {

constexpr int kPollMs = 50;  // between two polls of the learner's steps

Config LoadRun(const std::filesystem::path& run_dir) {
  Config config = LoadConfig(run_dir / "config.toml");
  if (config.eval.every_steps == 0) {
    throw UserError(run_dir.string() +
                    " is not evaluated while it is trained: eval.every_steps = 0");
  }
  return config;
}

class EvalProcess {
 public:
  EvalProcess(const EvalProcessOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        config_(LoadRun(options.run_dir)),
        net_(results::InitialNetToResume(config_, options.run_dir)),
        layout_(net_.layout),
        live_(wire::RuntimeRoot(config_.wire.runtime_dir), options.run_dir, layout_,
              static_cast<std::size_t>(config_.learner.shards)),
        results_(options.run_dir),
        schedule_(static_cast<std::uint64_t>(config_.eval.every_steps), LastSteps()) {
    OpenEvents();
  }

  void Run() {
    for (bool finish = options_.finish; !finish;) {
      if (options_.abandoned && options_.abandoned()) return;
      auto due = TakeDue();
      if (due) Evaluate(*std::move(due));
      finish = MustFinish(due ? 0 : kPollMs);
    }
    EvaluateNewestCheckpoint();
  }

 private:
  std::uint64_t LastSteps() const {
    const auto& last = results_.standing().last;
    return last ? last->steps : 0;
  }

  bool MustFinish(int timeout_ms) const {
    pollfd stop{.fd = options_.stop_fd, .events = POLLIN, .revents = 0};
    return ::poll(&stop, 1, timeout_ms) > 0;
  }

  // In its own directory: TensorBoard follows one writer in each, and shows both in one chart.
  void OpenEvents() {
    if (!config_.run.tensorboard) return;
    try {
      events_.emplace(options_.run_dir / "tensorboard" / "eval", LastSteps() + 1);
    } catch (const std::system_error& error) {
      LogWarn("nothing for TensorBoard: {}", error.what());
    }
  }

  std::optional<learner::Checkpoint> TakeDue() {
    const auto newest = live_.Peek();
    if (!newest || !schedule_.Due(newest->steps)) return std::nullopt;
    learner::Checkpoint taken;
    taken.weights.resize(layout_.size());
    wire::SnapshotMeta meta;
    if (!live_.Read(taken.weights, meta))
      return std::nullopt;  // overwritten meanwhile: try at the next poll
    schedule_.Done(meta.steps);
    taken.term = meta.term;
    taken.version = meta.version;
    taken.steps = meta.steps;
    taken.layout = layout_;
    taken.config = ToToml(config_);
    taken.spaces = net_.spaces;
    taken.counters = "{}";
    return taken;
  }

  void EvaluateNewestCheckpoint() {
    learner::LastGoodResult newest = learner::LastGood(options_.run_dir / "checkpoints");
    if (!newest.checkpoint) {
      LogWarn("there is no good checkpoint whose weights could be evaluated");
      return;
    }
    const auto& last = results_.standing().last;
    const std::pair age{newest.checkpoint->term, newest.checkpoint->version};
    if (!last || age > last->age()) Evaluate(*std::move(newest.checkpoint));
  }

  void Evaluate(learner::Checkpoint played) {
    const std::int64_t begin = clock_.NowNs();
    const actors::EvalResult result = actors::Evaluate(config_, played.weights,
                                                       {.episodes = config_.eval.episodes,
                                                        .greedy = config_.eval.greedy,
                                                        .seed = config_.run.seed + played.version});
    const results::EvalLine line{.steps = played.steps,
                                 .term = played.term,
                                 .version = played.version,
                                 .episodes = config_.eval.episodes,
                                 .mean_return = result.mean,
                                 .std = result.std,
                                 .seconds = static_cast<double>(clock_.NowNs() - begin) / 1e9};
    LogInfo("version {} of term {}, {} steps: mean return {:.2f} over {} episodes, {} of them cut",
            line.version, line.term, line.steps, line.mean_return, line.episodes, result.cut);
    results_.Add(line, std::move(played));
    Show(line);
  }

  void Show(const results::EvalLine& line) {
    const std::vector<Scalar> scalars{{"return", line.mean_return}, {"return_std", line.std}};
    if (!events_ || events_->Write(line.steps, scalars)) return;
    if (!std::exchange(warned_, true)) LogWarn("tensorboard: points could not be written");
  }

  const EvalProcessOptions& options_;
  const Clock& clock_;
  const Config config_;
  const learner::InitialNet net_;  // without weights
  const net::ParameterLayout& layout_;
  LiveWeights live_;
  results::EvalResults results_;
  EvalSchedule schedule_;
  std::optional<EventFile> events_;
  bool warned_ = false;
};

}  // namespace

void RunEvalProcess(const EvalProcessOptions& options, const Clock& clock) {
  EvalProcess(options, clock).Run();
}

}  // namespace starling::fleet
