#include "tools/replay/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <utility>

#include "actors/evaluator.h"
#include "core/error.h"
#include "core/text.h"

namespace starling::replay {
namespace {

constexpr std::size_t kKept = 32;                 // weights of a pass,
constexpr std::size_t kKeptBytes = 256ull << 20;  // or fewer of a large net

// At most `count` versions between `low` and `high`, evenly spaced.
std::vector<std::uint64_t> Between(std::uint64_t low, std::uint64_t high, std::size_t count) {
  const std::uint64_t all = high - low - 1, wanted = std::min<std::uint64_t>(count, all);
  std::vector<std::uint64_t> versions;
  for (std::uint64_t i = 1; i <= wanted; ++i) {
    versions.push_back(low + (high - low) * i / (wanted + 1));
  }
  return versions;
}

class Search {
 public:
  Search(const Condition& condition, VersionRange range, std::size_t keep,
         const BisectSources& sources)
      : condition_(condition),
        keep_(keep),
        sources_(sources),
        low_(range.after),
        high_(range.last) {}

  BisectResult Run() {
    // 1. The condition must hold at the end, and not at some version before.
    std::vector<std::uint64_t> versions = Between(low_, high_, keep_);
    versions.insert(versions.begin(), low_);
    versions.push_back(high_);
    Pass(versions);
    if (!Holds(high_)) {
      return WhyNot(fmt::format(
          "at version {} the return is {:.4g}, and {} must hold there: give another condition or "
          "--until",
          high_, returns_.at(high_), condition_.text));
    }
    if (Holds(low_) && !FindStart()) {
      return WhyNot(fmt::format(
          "{} holds at all of the {} versions that were evaluated, from {} on: give another limit "
          "or --after",
          condition_.text, evaluations_, low_));
    }
    // 2. Halve the range among the weights of this pass, then of the next ones.
    Halve();
    while (high_ - low_ > 1) {
      Pass(Between(low_, high_, keep_));
      Halve();
    }
    return {.turn = Turn{high_, returns_.at(low_), returns_.at(high_)},
            .passes = passes_,
            .evaluations = evaluations_};
  }

 private:
  void Pass(const std::vector<std::uint64_t>& versions) {
    weights_.clear();
    weights_ = sources_.pass(versions);
    ++passes_;
  }

  bool Holds(std::uint64_t version) {
    const auto known = returns_.find(version);
    if (known != returns_.end()) return condition_.HoldsFor(known->second);
    ++evaluations_;
    const double value = sources_.mean_return(version, weights_.at(version));
    returns_[version] = value;
    return condition_.HoldsFor(value);
  }

  // Moves the range to the last version of the pass at which the condition does not hold.
  // Returns false if there is none.
  bool FindStart() {
    for (auto kept = std::next(weights_.rbegin()); kept != weights_.rend(); ++kept) {
      if (!Holds(kept->first)) {
        low_ = kept->first;
        return true;
      }
      high_ = kept->first;
    }
    return false;
  }

  void Halve() {
    while (true) {
      const auto begin = weights_.upper_bound(low_), end = weights_.lower_bound(high_);
      if (begin == end) return;
      const std::uint64_t middle = std::next(begin, std::distance(begin, end) / 2)->first;
      (Holds(middle) ? high_ : low_) = middle;
    }
  }

  BisectResult WhyNot(std::string sentence) const {
    return {.passes = passes_, .evaluations = evaluations_, .why_not = std::move(sentence)};
  }

  const Condition& condition_;
  const std::size_t keep_;
  const BisectSources& sources_;
  std::uint64_t low_, high_;  // the condition holds at high_, and, once found, not at low_
  WeightsByVersion weights_;  // of the last pass
  std::map<std::uint64_t, double> returns_;
  int passes_ = 0, evaluations_ = 0;
};

std::size_t KeptOf(const ReplayedRun& run) {
  const std::size_t bytes = std::max<std::size_t>(run.layout.size() * sizeof(float), 1);
  return std::clamp<std::size_t>(kKeptBytes / bytes, 1, kKept);
}

}  // namespace

bool Condition::HoldsFor(double mean_return) const {
  if (mean_return == limit) return or_equal;
  return below ? mean_return < limit : mean_return > limit;
}

Condition ParseCondition(const std::string& text) {
  // 1. A word, a comparison and a number.
  std::istringstream in(text);
  const auto take = [&](auto&& belongs) {
    std::string taken;
    in >> std::ws;
    while (belongs(static_cast<char>(in.peek())) && !in.eof()) taken += static_cast<char>(in.get());
    return taken;
  };
  const std::string what = take([](char c) { return 'a' <= c && c <= 'z'; });
  const std::string how = take([](char c) { return c == '<' || c == '=' || c == '>'; });
  double limit = 0;
  const bool number = static_cast<bool>(in >> limit) && (in >> std::ws).eof();
  // 2. What they say.
  const bool known = how == "<" || how == "<=" || how == ">" || how == ">=";
  if (what != "return" || !known || !number) {
    throw UserError(
        fmt::format("--bisect \"{}\" is no condition: write \"return < 5\", or with <=, > or >=",
                    Escaped(text)));
  }
  return {
      .below = how[0] == '<', .or_equal = how.size() == 2, .limit = limit, .text = Escaped(text)};
}

BisectResult Bisect(const Condition& condition, VersionRange range, std::size_t keep,
                    const BisectSources& sources) {
  return Search(condition, range, keep, sources).Run();
}

WeightsByVersion WeightsOf(const ReplayedRun& run, const std::vector<std::uint64_t>& versions) {
  // 1. Take those of the next wanted version, if it is this one.
  WeightsByVersion weights;
  auto next = versions.begin();
  const auto take = [&](std::uint64_t version, auto&& now) {
    if (next == versions.end() || version != *next) return;
    weights[version] = now();
    ++next;
  };
  // 2. Go through all versions.
  Beginning beginning = NearestBeginning(run, versions.front());
  take(beginning.state.version, [&] { return beginning.state.weights; });
  ReplayedPart part(run, std::move(beginning));
  const Replayer& replayer = part.replayer();
  const bool same = part.Until(
      versions.back(), [&] { take(replayer.version(), [&] { return replayer.Now().weights; }); });
  if (!same) throw CannotReplay(part.Error());
  if (next != versions.end()) {
    throw CannotReplay(fmt::format("the journal ends before version {}", *next));
  }
  return weights;
}

int RunBisect(const ReplayOptions& options) {
  // 1. The range.
  const Condition condition = ParseCondition(*options.bisect);
  const ReplayedRun run = OpenRun(options.run_dir);
  const VersionRange range = RangeOf(run.dir, run.journal, options.after, options.until);
  std::printf("looking for %s from version %s to %s, %s each\n", condition.text.c_str(),
              std::to_string(range.after).c_str(), std::to_string(range.last).c_str(),
              Plural(static_cast<std::size_t>(options.episodes), "episode").c_str());
  std::fflush(stdout);
  // 2. Replay parts of it and evaluate.
  const BisectSources sources{
      .pass = [&](const auto& versions) { return WeightsOf(run, versions); },
      .mean_return =
          [&](std::uint64_t version, const std::vector<float>& weights) {
            const double mean =
                actors::Evaluate(
                    run.config, weights,
                    {.episodes = options.episodes, .greedy = options.greedy, .seed = 1})
                    .mean;
            std::printf("version %s: return %.4g\n", std::to_string(version).c_str(), mean);
            std::fflush(stdout);
            return mean;
          }};
  BisectResult result;
  try {
    result = Bisect(condition, range, KeptOf(run), sources);
  } catch (const CannotReplay& error) {
    return Fail(error.what());
  }
  if (!result.turn) return Fail(result.why_not);
  // 3. The update that made it.
  const Turn& turn = *result.turn;
  std::printf("%s from version %s on: %.4g there, %.4g before (%s, %s)\n\n%s",
              condition.text.c_str(), std::to_string(turn.version).c_str(), turn.after, turn.before,
              Plural(static_cast<std::size_t>(result.passes), "replay").c_str(),
              Plural(static_cast<std::size_t>(result.evaluations), "evaluation").c_str(),
              ToText(FindUpdate(run.dir, turn.version)).c_str());
  return Answered(run.journal, options);
}

}  // namespace starling::replay
