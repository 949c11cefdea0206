#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "actors/evaluator.h"
#include "actors/player.h"
#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "envs/picture.h"
#include "envs/registry.h"
#include "envs/wrappers/wrapped.h"
#include "results/trained.h"
#include "tools/play/play.h"
#include "tools/play/watched_frames.h"

namespace starling::play {
namespace {

namespace fs = std::filesystem;
using envs::Image;

constexpr int kUsualSide = 336;  // pixels
constexpr int kMaxSide = 8192;
constexpr int kMinPixelsWithLines = 8;

bool IsGif(const fs::path& out) { return out.extension() == ".gif"; }

// Refuses an unusable file before the game is played.
void CheckOut(const fs::path& out) {
  CheckWritable("--out", out);
  if (!IsGif(out) && out.extension() != ".png") {
    throw UserError(fmt::format("--out {}: its name must end in .gif or .png", out.string()));
  }
}

// Returns the factor by which raw frames are enlarged. Throws UserError if they would be too large.
int ScaleFor(const envs::FrameSpec& spec, int scale) {
  const bool vector = KindOf(spec) == envs::FrameKind::kVector;
  const envs::EnvSpec painted = PaintedSpec(spec).env;
  const int side = std::max({painted.height, painted.width, vector ? painted.channels : 1});
  if (side > kMaxSide) {
    throw UserError(
        fmt::format("a picture of {} would have {} cells a side; {} at most can be "
                    "shown",
                    spec.env.name, side, kMaxSide));
  }
  const std::int64_t chosen = scale > 0 ? scale : std::max(1, kUsualSide / side);
  if (side * chosen <= kMaxSide) return static_cast<int>(chosen);
  throw UserError(fmt::format("--scale {} makes pictures of more than {} pixels a side; {} at most",
                              scale, kMaxSide, std::max(1, kMaxSide / side)));
}

// Keeps between `count` and 2 * `count` evenly spaced frames of a play of unknown length: whenever
// it has more, it drops every second frame.
class Tiles {
 public:
  explicit Tiles(int count) : count_(static_cast<std::size_t>(count)) {}

  void Add(Image image) {
    if (seen_++ % every_ == 0) kept_.push_back(image);
    last_ = std::move(image);
    if (kept_.size() <= 2 * count_) return;
    for (std::size_t i = 0; 2 * i < kept_.size(); ++i) std::swap(kept_[i], kept_[2 * i]);
    kept_.resize((kept_.size() + 1) / 2);
    every_ *= 2;
  }

  std::vector<Image> Chosen() {
    std::vector<Image> chosen;
    const std::size_t wanted = std::min(count_, kept_.size());
    for (std::size_t i = 0; i + 1 < wanted; ++i) {
      chosen.push_back(kept_[i * (kept_.size() - 1) / (wanted - 1)]);
    }
    chosen.push_back(std::move(last_));
    return chosen;
  }

 private:
  std::size_t count_, every_ = 1, seen_ = 0;
  std::vector<Image> kept_;
  Image last_;
};

// Collects the frames of the wanted episodes and encodes them. It holds those of a step until the
// step is over: only then it is known whether an episode has ended and another one is wanted.
class Film {
 public:
  Film(const RecordOptions& options, const envs::FrameSpec& spec)
      : picture_(KindOf(spec) == envs::FrameKind::kPicture),
        scale_(ScaleFor(spec, options.scale)),
        tiles_(options.tiles) {
    if (IsGif(options.out)) fps_ = options.fps > 0 ? options.fps : picture_ ? 30 : 8;
  }

  void Take(const envs::FrameEnvs& frames, std::int32_t command) {
    if (command == envs::FrameEnvs::kReset && !next_) next_ = held_.size();
    held_.push_back(Paint(frames, 0));
  }

  // The step is over. If it is the `last`, the frames of the episode behind its end are not wanted.
  void EndStep(bool last) {
    if (last && next_) held_.resize(*next_);
    for (Image& frame : held_) Add(std::move(frame));
    held_.clear();
    next_.reset();
  }

  std::string Finish() {
    if (gif_) return gif_->Finish();
    std::vector<Image> images;
    for (const Image& frame : tiles_.Chosen()) images.push_back(Scaled(frame));
    if (images.size() == 1) return EncodePng(images[0]);
    int columns = 1;
    while (columns * columns < static_cast<int>(images.size())) ++columns;
    return EncodePng(ContactSheet(images, columns, kGap));
  }

  std::int64_t taken() const { return taken_; }

 private:
  static constexpr int kGap = 8;

  void Add(Image frame) {
    ++taken_;
    if (fps_ == 0) {
      tiles_.Add(std::move(frame));
      return;
    }
    const Image image = Scaled(frame);
    if (!gif_) gif_.emplace(image.width, image.height, fps_);
    gif_->Add(image);
  }

  Image Scaled(const Image& frame) const {
    return Enlarged(frame, scale_, !picture_ && scale_ >= kMinPixelsWithLines);
  }

  const bool picture_;
  const int scale_;
  int fps_ = 0;  // 0: a PNG
  std::optional<GifWriter> gif_;
  Tiles tiles_;
  std::vector<Image> held_;          // the frames of this step
  std::optional<std::size_t> next_;  // those of them before the first reset
  std::int64_t taken_ = 0;
};

struct Played {
  std::int64_t steps = 0;
  std::vector<double> returns;  // of the episodes that ended
};

// REQUIRES: steps and episodes of at least 1.
Played Play(actors::Player& player, const RecordOptions& options, Film& film) {
  Played played;
  std::vector<envs::EpisodeEnd> ended;
  film.EndStep(false);  // the first reset
  for (bool done = false; !done && played.steps < options.steps;) {
    ended.clear();
    player.Step(ended);
    ++played.steps;
    for (const envs::EpisodeEnd& episode : ended) {
      if (episode.end == envs::End::kCut) {
        LogWarn("an episode was cut: its process was replaced; the film shows it up to there");
      } else {
        played.returns.push_back(episode.episode_return);
      }
    }
    done = std::ssize(played.returns) >= options.episodes;
    film.EndStep(done);
  }
  return played;
}

}  // namespace

int RunRecord(const RecordOptions& options) {
  // 1. Load the player, before its env: a wrong path fails at once.
  CheckOut(options.out);
  std::optional<results::Trained> trained;
  if (!options.target.empty()) {
    CheckEnvKeys(options.overrides, /*name_too=*/true);
    trained = results::LoadTrained(options.target, options.overrides);
  }
  const EnvConfig config =
      trained ? trained->config.env : EnvOptions(options.env, options.overrides);
  // 2. Make its env, and film every frame of it. The seed is that of `starling eval`.
  const envs::EnvSeed seed{options.seed, actors::kPlayerSlot, 0};
  std::unique_ptr<envs::FrameEnvs> frames = envs::MakeFrames(config, 1, seed);
  Film film(options, frames->spec());
  envs::WrappedEnv env(
      std::make_unique<WatchedFrames>(
          std::move(frames),
          [&film](const envs::FrameEnvs& envs, std::int32_t command) { film.Take(envs, command); }),
      seed, config);
  std::optional<actors::Player> player;
  if (trained) {
    player.emplace(trained->config, trained->checkpoint.weights, env, options.seed, options.greedy);
  } else {
    player.emplace(env, options.seed);
  }
  // 3. Play, then write the file at once.
  const Played played = Play(*player, options, film);
  const std::string bytes = film.Finish();
  WriteFileAtomically(options.out, bytes);
  std::string returns;
  for (const double value : played.returns) returns += fmt::format(" {:g}", value);
  std::printf("%s: %zu bytes, %ld frames, %ld steps, %s%s\n", options.out.c_str(), bytes.size(),
              static_cast<long>(film.taken()), static_cast<long>(played.steps),
              returns.empty() ? "no episode ended" : "returns:", returns.c_str());
  return kExitDone;
}

// ---- starling eval

int RunEval(const EvalOptions& options) {
  CheckEnvKeys(options.overrides, /*name_too=*/true);
  const auto [config, checkpoint] = results::LoadTrained(options.target, options.overrides);
  const actors::EvalResult result = actors::Evaluate(
      config, checkpoint.weights,
      {.episodes = options.episodes, .greedy = options.greedy, .seed = options.seed});
  if (result.cut > 0) {
    LogWarn("{} episodes did not end by themselves and were cut", result.cut);
  }
  if (options.json) {
    const nlohmann::ordered_json json{{"mean_return", result.mean},
                                      {"std", result.std},
                                      {"episodes", result.returns.size()},
                                      {"greedy", options.greedy}};
    std::printf("%s\n", json.dump().c_str());
  } else {
    std::printf("%s: mean return %.2f, standard deviation %.2f over %zu episodes\n",
                config.env.name.c_str(), result.mean, result.std, result.returns.size());
  }
  return kExitDone;
}

}  // namespace starling::play
