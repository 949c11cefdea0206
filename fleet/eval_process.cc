#include "fleet/eval_process.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "actors/evaluator.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/log.h"
#include "core/tensorboard.h"
#include "learner/storage/checkpoint.h"
#include "results/eval_results.h"
#include "results/initial_net.h"
#include "results/trained.h"
#include "wire/runtime_dir.h"
#include "wire/slices.h"
#include "wire/snapshot.h"

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
        slices_(
            wire::CutIntoSlices(layout_.size(), static_cast<std::size_t>(config_.learner.shards))),
        root_(wire::RuntimeRoot(config_.wire.runtime_dir)),
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

  std::vector<std::filesystem::path> SlicePaths(const std::filesystem::path& first) const {
    std::vector<std::filesystem::path> paths{first};
    while (paths.size() < slices_.size()) {
      paths.push_back(wire::RuntimeDir::SlicePath(first, paths.size()));
    }
    return paths;
  }

  // Opens the weights of the present learner, if there is one.
  void FindLearner() {
    const auto exists = [none = std::error_code()](const auto& path) mutable {
      return std::filesystem::exists(path, none);
    };
    const auto path = wire::RuntimeDir::FindSnapshot(root_, options_.run_dir);
    if (path == path_) return;
    path_.reset();
    readers_.clear();
    // The other shards of a learner start later than its first: try again at the next poll.
    if (!path || !std::ranges::all_of(SlicePaths(*path), exists)) return;
    path_ = path;
    try {
      for (const auto& slice : SlicePaths(*path)) {
        readers_.emplace_back(slice, slices_[readers_.size()].size, layout_.fingerprint());
      }
    } catch (const std::runtime_error& error) {
      readers_.clear();
      LogInfo("{}", error.what());  // it may have ended: the next one has another path
    }
  }

  std::optional<learner::Checkpoint> TakeDue() {
    FindLearner();
    const auto newest = readers_.empty() ? std::nullopt : readers_.front().Peek();
    if (!newest || !schedule_.Due(newest->steps)) return std::nullopt;
    learner::Checkpoint taken;
    taken.weights.resize(layout_.size());
    wire::SnapshotMeta meta;
    if (!ReadAll(taken.weights, meta))
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

  // Reads the newest slice of every shard; `meta` is that of the first.
  bool ReadAll(std::span<float> weights, wire::SnapshotMeta& meta) {
    for (std::size_t shard = readers_.size(); shard-- > 0;) {
      const auto [begin, size] = slices_[shard];
      if (!readers_[shard].Read(0, weights.subspan(begin, size), meta)) return false;
    }
    return true;
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
  const std::vector<wire::Slice> slices_;
  const std::filesystem::path root_;
  results::EvalResults results_;
  EvalSchedule schedule_;
  std::optional<EventFile> events_;
  bool warned_ = false;
  std::optional<std::filesystem::path> path_;  // of the first shard's snapshot
  std::vector<wire::SnapshotReader> readers_;  // one per shard of the learner
};

}  // namespace

void RunEvalProcess(const EvalProcessOptions& options, const Clock& clock) {
  EvalProcess(options, clock).Run();
}

}  // namespace starling::fleet
