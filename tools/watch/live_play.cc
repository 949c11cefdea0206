#include "tools/watch/live_play.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "actors/player.h"
#include "core/child.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/log.h"
#include "core/process.h"
#include "core/text.h"
#include "envs/picture.h"
#include "envs/registry.h"
#include "envs/wrappers/wrapped.h"
#include "fleet/live_weights.h"
#include "monitor/run_follower.h"
#include "net/policy.h"
#include "results/run_dir.h"
#include "results/trained.h"
#include "tools/play/play.h"
#include "tools/play/watched_frames.h"

namespace starling::watch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kPatienceMs = 5000;              // for a reader
constexpr int kGridMs = 125, kPictureMs = 66;  // a step
constexpr int kSide = 250;                     // pixels, at least half of it
constexpr std::size_t kMostShown = 24;         // values of a choice, coordinates

// The weights that play: those in the learner's shared memory, else those of the newest checkpoint.
class Weights {
 public:
  Weights(const Config& config, const fs::path& run_dir)
      : run_dir_(run_dir),
        layout_(results::LayoutOf(config)),
        values_(layout_.size()),
        spare_(layout_.size()) {
    if (const auto root = monitor::RuntimeRootOf(config)) {
      live_.emplace(*root, run_dir, layout_, static_cast<std::size_t>(config.learner.shards));
    }
  }

  // Takes newer ones, if there are any. Throws UserError while it has none.
  void Refresh() {
    const auto newest = live_ ? live_->Peek() : std::nullopt;
    if (!newest) return TakeCheckpoint();
    const bool known = has_ && newest->term == meta_.term && newest->version == meta_.version;
    wire::SnapshotMeta meta;
    if (known || !live_->Read(spare_, meta)) return NeedSome();  // or overwritten meanwhile
    values_.swap(spare_);
    meta_ = meta;
    has_ = true;
  }
  std::span<const float> values() const { return values_; }
  std::uint64_t steps() const { return meta_.steps; }

 private:
  void NeedSome() const {
    if (!has_) throw UserError("there are no weights yet");
  }
  void TakeCheckpoint() {
    const std::string name = results::NewestCheckpoint(run_dir_);
    if (name == checkpoint_ || name.empty()) return NeedSome();
    checkpoint_ = name;
    try {
      const results::Trained trained = results::LoadTrained(run_dir_);
      if (trained.checkpoint.layout.fingerprint() != layout_.fingerprint()) {
        throw UserError("its newest checkpoint has another net than its configuration");
      }
      std::ranges::copy(trained.checkpoint.weights, values_.begin());
      meta_ = {.term = trained.checkpoint.term,
               .version = trained.checkpoint.version,
               .steps = trained.checkpoint.steps};
      has_ = true;
    } catch (const UserError&) {  // it was removed meanwhile, say
      if (!has_) throw;
    }
  }

  const fs::path run_dir_;
  const net::ParameterLayout layout_;
  std::optional<fleet::LiveWeights> live_;
  std::vector<float> values_, spare_;
  wire::SnapshotMeta meta_;
  std::string checkpoint_;  // the newest that was looked at
  bool has_ = false;
};

// ---- What a step shows

Json ChoicesOf(const envs::EnvSpec& env, std::span<const float> logits,
               std::span<const std::int32_t> action) {
  Json choices = Json::array();
  std::size_t first = 0;
  for (std::size_t choice = 0; choice < env.actions.counts.size(); ++choice) {
    const auto count = static_cast<std::size_t>(env.actions.counts[choice]);
    std::vector<float> p(count);
    net::Softmax<float>(static_cast<int>(count), logits.data() + first, p.data());
    Json values = Json::array();
    for (std::size_t value = 0; value < std::min(count, kMostShown); ++value) {
      const bool named = env.actions.one_choice() && value < env.action_names.size();
      values.push_back({{"name", named ? env.action_names[value] : std::to_string(value)},
                        {"p", std::isfinite(p[value]) ? p[value] : 0},
                        {"taken", std::cmp_equal(action[choice], value)}});
    }
    choices.push_back(std::move(values));
    first += count;
  }
  return choices;
}

Json CoordinatesOf(int width, std::span<const float> outputs) {
  Json coordinates = Json::array();
  for (int i = 0; i < std::min(width, static_cast<int>(kMostShown)); ++i) {
    const net::Gaussian<float> of(outputs[static_cast<std::size_t>(i)],
                                  outputs[static_cast<std::size_t>(i + width)]);
    coordinates.push_back({of.mean, std::exp(of.log_deviation)});
  }
  return coordinates;
}

// A picture of about `kSide` pixels.
std::string PngOf(const envs::Image& image, bool lines) {
  const int side = std::max(image.width, image.height);
  const int scale = std::max(1, kSide / side), factor = std::max(1, side / (2 * kSide) + 1);
  if (side > 2 * kSide) return play::EncodePng(envs::Shrunk(image, factor));
  return play::EncodePng(envs::Enlarged(image, scale, lines && scale >= 8));
}

// Returns false if nobody has read for `kPatienceMs`.
bool Send(const std::string& line) {
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(kStatusFd, rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (written < 0 && errno != EAGAIN && errno != EINTR) return false;
    pollfd writable{.fd = kStatusFd, .events = POLLOUT, .revents = 0};
    if (::poll(&writable, 1, kPatienceMs) == 0) return false;
  }
  return true;
}

// ---- The game

class Game {
 public:
  Game(const Config& config, Weights& weights)
      : weights_(weights), seed_{config.run.seed, actors::kPlayerSlot, 0} {
    std::unique_ptr<envs::FrameEnvs> frames = envs::MakeFrames(config.env, 1, seed_);
    const envs::FrameKind kind = KindOf(frames->spec());
    grid_ = kind != envs::FrameKind::kPicture;
    env_ = std::make_unique<envs::WrappedEnv>(
        std::make_unique<play::WatchedFrames>(
            std::move(frames),
            [this](const envs::FrameEnvs& envs, std::int32_t) { seen_ = Paint(envs, 0); }),
        seed_, config.env);
    player_ = std::make_unique<actors::Player>(config, weights.values(), *env_, config.run.seed,
                                               config.eval.greedy);
  }

  int step_ms() const { return grid_ ? kGridMs : kPictureMs; }

  // Plays a step. Returns the line of what the policy saw before it, and made of it.
  std::string Step() {
    const envs::Image before = seen_;
    std::vector<envs::EpisodeEnd> ended;
    player_->Step(ended);
    const actors::Policy& policy = *player_->policy();
    const envs::EnvSpec& spec = env_->spec();
    Json line = {{"png", Base64(PngOf(before, grid_))},
                 {"steps", weights_.steps()},
                 {"episode", episode_},
                 {"step", ++step_},
                 {"value", policy.values()[0]},
                 {"last", last_return_ ? Json(*last_return_) : Json(nullptr)}};
    if (spec.actions.box()) {
      line["coordinates"] = CoordinatesOf(spec.actions.width(), policy.outputs());
    } else {
      line["choices"] = ChoicesOf(spec, policy.outputs(), player_->actions());
    }
    for (const envs::EpisodeEnd& end : ended) {
      last_return_ = end.episode_return;
      ++episode_;
      step_ = 0;
    }
    return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  Weights& weights_;
  const envs::EnvSeed seed_;
  bool grid_ = false;
  envs::Image seen_;  // the newest frame
  std::unique_ptr<envs::WrappedEnv> env_;
  std::unique_ptr<actors::Player> player_;
  std::uint64_t episode_ = 1, step_ = 0;
  std::optional<double> last_return_;
};

}  // namespace

int RunLivePlay(const fs::path& run_dir, int parent) {
  InitLog("play");
  ::setpriority(PRIO_PROCESS, 0, 19);
  const auto abandoned = WatchParent(parent);
  const Config config = LoadConfig(run_dir / "config.toml");
  if (config.net.external()) throw UserError("its net is external: only its own programs play it");
  Weights weights(config, run_dir);
  weights.Refresh();
  Game game(config, weights);
  while (!abandoned() && Send(game.Step())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(game.step_ms()));
    weights.Refresh();
  }
  return kExitDone;
}

}  // namespace starling::watch
