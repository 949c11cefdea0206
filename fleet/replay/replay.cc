#include "fleet/replay/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/clock.h"
#include "core/denormals.h"
#include "core/error.h"
#include "envs/registry.h"
#include "fleet/blueprint.h"
#include "fleet/console.h"
#include "fleet/replay/replayer.h"
#include "fleet/replay/story.h"
#include "fleet/summary.h"
#include "learner/checkpoint.h"

namespace starling::fleet {
namespace {

Config ConfigOf(const std::filesystem::path& run_dir) {
  const std::filesystem::path path = run_dir / "config.toml";
  if (!std::filesystem::is_regular_file(path)) {
    throw UserError(run_dir.string() + " is no run directory: it has no config.toml");
  }
  Config config = LoadConfig(path);
  for (const char* elsewhere : {"gym:", "plugin:"}) {
    if (!config.env.name.starts_with(elsewhere)) continue;
    throw UserError(
        fmt::format("{} cannot be replayed: what it draws is not Starling's; only bundled "
                    "envs can",
                    config.env.name));
  }
  return config;
}

// "  12,000 of 31,250 versions" below what stays, where there is a terminal.
void ShowProgress(Console& console, std::uint64_t version, std::uint64_t last,
                  std::int64_t now_ms) {
  console.Draw(
      [&](const ProgressStyle&) {
        return fmt::format("replaying: version {} of {}", Grouped(version), Grouped(last));
      },
      now_ms);
}

int Fail(const std::string& sentence) {
  std::fprintf(stderr, "starling: %s\n", sentence.c_str());
  return kExitFailed;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct Compared {
  std::string with;  // the checkpoint, or "" if none is of a version that was replayed to
  bool same = true;
};

// With the newest checkpoint that is of this version: its weights and its optimizer's state.
Compared CompareWithCheckpoint(const std::filesystem::path& run_dir, const Replayer& replayer) {
  const auto found = learner::LastGood(run_dir / "checkpoints");
  if (!found.checkpoint || found.checkpoint->version != replayer.version()) return {};
  const learner::Capture now = replayer.Now();
  bool same = SameBits(now.weights, found.checkpoint->weights) &&
              now.state.size() == found.checkpoint->state.size();
  for (std::size_t i = 0; same && i < now.state.size(); ++i) {
    same = SameBits(now.state[i], found.checkpoint->state[i]);
  }
  return {"checkpoints/" + found.path.filename().string(), same};
}

}  // namespace

int RunReplay(const ReplayOptions& options) {
  const Story story = ReadStory(options.run_dir);
  if (options.explain) {
    std::printf("%s", ToText(FindUpdate(story, *options.explain)).c_str());
    return kExitDone;
  }
  const Config config = ConfigOf(options.run_dir);
  const learner::NetBlueprint net = BlueprintOf(config);
  if (net.layout.fingerprint() != story.header.fingerprint ||
      config.run.seed != story.header.seed) {
    throw UserError(fmt::format("the journal and the configuration in {} are not of one run",
                                options.run_dir.string()));
  }
  const std::uint64_t last = std::min(options.until.value_or(story.last), story.last);
  if (options.until && *options.until > story.last) FindUpdate(story, *options.until);  // says so

  FlushDenormals();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowMs();
  Replayer replayer(config, story, net.initial, net.layout.fingerprint());
  {
    Console console(STDERR_FILENO, DetectStyle(STDERR_FILENO));
    for (const learner::JournalRecord& record : story.records) {
      if (std::holds_alternative<learner::UpdateRecord>(record) && replayer.version() == last)
        break;
      if (!replayer.Do(record)) break;
      ShowProgress(console, replayer.version(), last, clock.NowMs());
    }
  }
  if (!replayer.difference().empty()) {
    return Fail(replayer.difference() +
                ": was it trained by another program or on another kind of processor, or resumed "
                "with other settings?");
  }
  const Compared compared = CompareWithCheckpoint(options.run_dir, replayer);
  if (!compared.same) return Fail("the weights are not those of " + compared.with);
  std::printf(
      "replayed %s versions in %.1f s: %s hashes agree%s\n", Grouped(replayer.version()).c_str(),
      static_cast<double>(clock.NowMs() - begin) / 1000, Grouped(replayer.hashes()).c_str(),
      compared.with.empty()
          ? ""
          : (", weights and optimizer are those of " + compared.with + ", bit for bit").c_str());
  if (!story.torn.empty() && !options.until) std::printf("%s\n", story.torn.c_str());
  return kExitDone;
}

}  // namespace starling::fleet
