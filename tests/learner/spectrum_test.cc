// Runs every block of docs/spectrum that is marked `timeline` and compares it with the judge.
//
//   set actors.count=3 staleness.bound=1      as with --set
//   samples 40 120 40                         optional: samples of each actor's gradients
//   B on 0 -> held A0 B0                      actor B's gradient, computed on version 0, arrives
//   C dies -> version 1 = A0 + B0, staleness 0 0
//
// Text after a # is a comment.
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/file.h"
#include "learner/apply/schedule.h"
#include "learner/staleness.h"

namespace starling::learner {
namespace {

namespace fs = std::filesystem;

char NameOf(std::uint32_t slot) { return static_cast<char>('A' + slot); }

std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// One block: a judge and the grants in its actors' hands.
class Timeline {
 public:
  // `settings`: the words after "set".
  explicit Timeline(const std::vector<std::string>& settings)
      : config_(ParseConfig("", "timeline", settings)),
        judge_({.bound = config_.staleness.bound,
                .drop = config_.staleness.on_exceed == OnExceed::kDrop,
                .gradients = static_cast<std::uint64_t>(config_.updates.gradients),
                .in_flight = static_cast<std::uint64_t>(config_.updates.in_flight),
                .delay = config_.staleness.delay},
               0),
        samples_(static_cast<std::size_t>(config_.actors.count),
                 static_cast<std::uint64_t>(config_.samples_per_gradient())) {
    for (std::uint32_t slot = 0; slot < samples_.size(); ++slot) judge_.Join(slot);
    judge_.Open();
    TakeGrants();
  }

  void SetSamples(const std::vector<std::uint64_t>& samples) {
    ASSERT_EQ(samples.size(), samples_.size());
    samples_ = samples;
  }

  // Returns the effect of `event`, in the words of the page.
  std::string Do(const std::vector<std::string>& event) {
    const auto slot = static_cast<std::uint32_t>(event.at(0).at(0) - 'A');
    std::vector<std::string> effects;
    if (event.at(1) == "dies") {
      judge_.RemoveActor(slot);
    } else {
      const std::uint64_t base = std::stoull(event.at(2));
      if (!Arrive(slot, base)) {
        effects.push_back(fmt::format("refused, staleness {}", judge_.version() - base));
      }
    }
    while (const auto update = judge_.NextUpdate()) effects.push_back(Describe(*update));
    TakeGrants();
    std::string held;
    for (const HeldGradient& one : judge_.state().held) {
      held += fmt::format(" {}{}", NameOf(one.slot), one.base);
    }
    if (!held.empty()) effects.push_back("held" + held);
    return fmt::format("{}", fmt::join(effects, "; "));
  }

 private:
  // Returns whether the gradient is held.
  bool Arrive(std::uint32_t slot, std::uint64_t base) {
    auto& grants = hand_[slot];
    if (grants.empty()) {
      ADD_FAILURE() << NameOf(slot) << " has no grant: it waits for its last gradient";
      return false;
    }
    const std::uint64_t grant = grants.front();
    grants.erase(grants.begin());
    const Arrival verdict = judge_.Arrive(slot, grant, base, 0);
    EXPECT_TRUE(verdict == Arrival::kHeld || verdict == Arrival::kStale)
        << NameOf(slot) << " cannot have computed on " << base;
    return verdict == Arrival::kHeld;
  }

  // Returns "version 2 = B1 + C1, staleness 0 0", and the factors of the step if a rule scales it.
  std::string Describe(const Judge::Update& update) const {
    std::vector<Contribution> parts;
    std::uint64_t n = 0;
    for (const HeldGradient& one : update.gradients) {
      parts.push_back({samples_[one.slot], update.version - 1 - one.base});
      n += samples_[one.slot];
    }
    const bool alike = std::ranges::all_of(samples_, [&](auto m) { return m == samples_[0]; });
    std::vector<std::string> sum;
    std::string staleness;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double weight = static_cast<double>(parts[i].samples) / static_cast<double>(n);
      sum.push_back(fmt::format("{}{}{}", alike ? "" : fmt::format("{:.3g} ", weight),
                                NameOf(update.gradients[i].slot), update.gradients[i].base));
      staleness += fmt::format(" {}", parts[i].staleness);
    }
    std::string text = fmt::format("version {} = {}, staleness{}", update.version,
                                   fmt::join(sum, " + "), staleness);
    if (config_.staleness.damping != Damping::kNone) {
      text += fmt::format(", step x {:.3g}", DampingScale(config_.staleness, parts));
    }
    if (config_.optimizer.scale_lr != LrScaling::kNone) {
      text += fmt::format(", rate x {:.3g}", LrScale(config_.optimizer, n));
    }
    return text;
  }

  void TakeGrants() {
    for (const Grant& grant : judge_.TakeGrants()) hand_[grant.slot].push_back(grant.number);
  }

  const Config config_;
  Judge judge_;
  std::vector<std::uint64_t> samples_;  // per gradient, by slot
  std::map<std::uint32_t, std::vector<std::uint64_t>> hand_;
};

// Returns the lines of every timeline of a page; each begins with "set".
std::vector<std::vector<std::string>> TimelinesOf(const fs::path& page) {
  std::vector<std::vector<std::string>> timelines;
  bool inside = false;
  std::istringstream lines(ReadFile(page));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = line == "```timeline";
      if (inside) timelines.emplace_back();
    } else if (inside) {
      timelines.back().push_back(line);
    }
  }
  return timelines;
}

void RunTimeline(const std::vector<std::string>& lines) {
  std::vector<std::string> settings = WordsOf(lines.at(0));
  ASSERT_EQ(settings.at(0), "set");
  settings.erase(settings.begin());
  Timeline timeline(settings);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::string> words = WordsOf(lines[i]);
    if (words.empty()) continue;
    if (words[0] == "samples") {
      std::vector<std::uint64_t> samples;
      for (std::size_t k = 1; k < words.size(); ++k) samples.push_back(std::stoull(words[k]));
      timeline.SetSamples(samples);
      continue;
    }
    const auto arrow = std::ranges::find(words, "->");
    ASSERT_NE(arrow, words.end()) << lines[i];
    EXPECT_EQ(timeline.Do({words.begin(), arrow}),
              fmt::format("{}", fmt::join(arrow + 1, words.end(), " ")))
        << lines[i];
  }
}

TEST(SpectrumTimelines, MatchTheJudge) {
  std::map<std::string, std::size_t> found;
  for (const auto& entry : fs::directory_iterator(STARLING_SOURCE_DIR "/docs/spectrum")) {
    for (const auto& lines : TimelinesOf(entry.path())) {
      SCOPED_TRACE(entry.path().filename());
      ++found[entry.path().stem()];
      RunTimeline(lines);
    }
  }
  for (const char* page : {"mirrored", "softsync", "auto", "bounded-wait", "bounded-drop", "damped",
                           "free", "linear-scaling", "unequal-batches"}) {
    EXPECT_GE(found[page], 1u) << page;
  }
}

TEST(SpectrumTimelines, OneTimelineWrittenOut) {
  Timeline timeline({"actors.count=2", "staleness.bound=0", "staleness.damping=inverse"});
  timeline.SetSamples({40, 120});
  EXPECT_EQ(timeline.Do({"B", "on", "0"}), "held B0");
  EXPECT_EQ(timeline.Do({"A", "on", "0"}),
            "version 1 = 0.25 A0 + 0.75 B0, staleness 0 0, step x 1");
  EXPECT_EQ(timeline.Do({"B", "dies"}), "");
}

}  // namespace
}  // namespace starling::learner
