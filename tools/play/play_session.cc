#include "tools/play/play_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.h"
#include "envs/registry.h"
#include "envs/wrappers/wrapped.h"
#include "tools/play/play.h"
#include "tools/play/watched_frames.h"

namespace starling::play {
namespace {

// The entries that are no picture: "order 0 1 0 0  time 0.87".
std::string RowsOf(const envs::FrameEnvs& frame) {
  std::string text;
  std::span<const float> left = frame.floats(0);
  for (const ObservationEntry& entry : frame.spec().env.entries) {
    const auto values = left.first(static_cast<std::size_t>(entry.size()));
    left = left.subspan(values.size());
    if (entry.picture()) continue;
    text += (text.empty() ? "" : "  ") + entry.name;
    for (const float value : values) text += fmt::format(" {:.3g}", value);
  }
  return text;
}

EnvConfig WithRawFrames(EnvConfig config) {
  config.pixels = false;
  config.stack = 1;
  return config;
}

// A copy of the frame of one env, which stays while the env starts its next episode.
class KeptFrame final : public envs::FrameEnvs {
 public:
  explicit KeptFrame(const envs::FrameSpec& spec) : spec_(spec) {}
  void Keep(const envs::FrameEnvs& frames) {
    bytes_.assign(frames.bytes(0).begin(), frames.bytes(0).end());
    floats_.assign(frames.floats(0).begin(), frames.floats(0).end());
    result_ = frames.result(0);
  }

  const envs::FrameSpec& spec() const override { return spec_; }
  int size() const override { return 1; }
  const envs::FrameResult& result(int) const override { return result_; }
  std::span<const std::uint8_t> bytes(int) const override { return bytes_; }
  std::span<const float> floats(int) const override { return floats_; }

 private:
  void Play(std::span<const std::int32_t>, int) override {}

  envs::FrameSpec spec_;
  envs::FrameResult result_;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
};

// Throws UserError if keys cannot play the env.
std::unique_ptr<envs::FrameEnvs> FramesForKeys(const EnvConfig& config, const envs::EnvSeed& seed) {
  std::unique_ptr<envs::FrameEnvs> frames = envs::MakeFrames(config, 1, seed);
  const envs::EnvSpec& spec = frames->spec().env;
  if (spec.actions.one_choice() && !spec.actions.masked) return frames;
  throw UserError(fmt::format(
      "env.name: an action of {} is {}, and keys make one choice, of which nothing is forbidden; "
      "`starling record` shows how a trained net or a random player plays it",
      spec.name, ActionsOf(spec)));
}

}  // namespace

class PlaySession::Stage {
 public:
  Stage(const EnvConfig& config, const envs::EnvSeed& seed)
      : Stage(config, seed, FramesForKeys(config, seed)) {}

  const envs::EnvSpec& spec() const { return newest_.spec().env; }
  envs::FrameKind kind() const { return KindOf(newest_.spec()); }
  // The frame for the person: after an episode its last one, until Begin.
  const envs::FrameEnvs& shown() const { return over_ ? last_ : newest_; }
  void Begin() { over_ = false; }

  // `reward` is the game's, not the clipped one of an agent.
  struct Outcome {
    double reward = 0;
    bool over = false;
    double episode_return = 0;
  };
  Outcome Step(std::int32_t action) {
    reward_ = 0;
    float clipped = 0;
    std::uint8_t end = 0;
    env_->Step({&action, 1}, seen_, {&clipped, 1}, {&end, 1});
    std::vector<envs::EpisodeEnd> ended;
    env_->TakeEpisodes(ended);
    if (ended.empty()) return {.reward = reward_};
    over_ = true;
    return {reward_, true, ended.front().episode_return};
  }

 private:
  Stage(const EnvConfig& config, const envs::EnvSeed& seed, std::unique_ptr<envs::FrameEnvs> frames)
      : newest_(frames->spec()), last_(frames->spec()) {
    env_ = std::make_unique<envs::WrappedEnv>(
        std::make_unique<WatchedFrames>(
            std::move(frames),
            [this](const envs::FrameEnvs& envs, std::int32_t command) { Watch(envs, command); }),
        seed, config);
    seen_.resize(env_->spec().row());
    env_->Reset(seen_);
  }

  void Watch(const envs::FrameEnvs& envs, std::int32_t command) {
    if (command == envs::FrameEnvs::kReset) {
      last_.Keep(newest_);
    } else {
      reward_ += envs.result(0).reward;
    }
    newest_.Keep(envs);
  }

  KeptFrame newest_, last_;
  bool over_ = false;
  double reward_ = 0;  // of the step under way
  std::unique_ptr<envs::WrappedEnv> env_;
  std::vector<float> seen_;
};

PlaySession::PlaySession(EnvConfig config, std::uint64_t seed)
    : stage_(
          std::make_unique<Stage>(WithRawFrames(std::move(config)), envs::EnvSeed{.seed = seed})),
      steering_(stage_->spec().action_names) {}

PlaySession::~PlaySession() = default;

void PlaySession::OnPress(const Press& press, std::int64_t now_ms) {
  if (press.key == Key::kPause) paused_ = !paused_ && !over_;
  if (!over_) {
    if (!paused_) steering_.OnPress(press, now_ms);
  } else if (press.key == Key::kFire) {
    stage_->Begin();
    over_ = false;
    steps_ = 0;
    score_ = 0;
  }
}

void PlaySession::Step(std::int64_t now_ms) {
  const std::int32_t action = steering_.Take(now_ms);
  if (over_ || paused_) return;
  const Stage::Outcome outcome = stage_->Step(action);
  ++steps_;
  score_ += outcome.reward;
  if (!outcome.over) return;
  over_ = true;
  score_ = outcome.episode_return;
  scores_.push_back(score_);
}

std::string PlaySession::Status() const {
  std::string text = fmt::format("{}  score {:g}  episode {}  step {}", stage_->spec().name, score_,
                                 scores_.size() + (over_ ? 0 : 1), steps_);
  if (!scores_.empty()) text += fmt::format("  best {:g}", *std::ranges::max_element(scores_));
  if (over_) text += "  OVER: space goes on";
  if (paused_) text += "  PAUSED: p goes on";
  return text;
}

std::string PlaySession::Help() const {
  const std::string digits =
      fmt::format("0-{}", std::min<std::size_t>(9, stage_->spec().action_names.size() - 1));
  return (steering_.HasNames() ? "arrows or wasd, space; " : "") + digits +
         " actions by number; p pause, q quit";
}

std::vector<std::string> PlaySession::Lines(Palette palette, int columns, int rows) const {
  columns = std::max(1, columns);
  const envs::FrameEnvs& frame = stage_->shown();
  std::vector<std::string> below{Status(), Help()};
  if (std::string seen = RowsOf(frame); !seen.empty()) below.insert(below.begin(), std::move(seen));
  const int lines = std::max(1, rows - static_cast<int>(below.size()));
  std::vector<std::string> text = palette == Palette::kNone
                                      ? PlainLines(frame, columns, lines)
                                      : ColorLines(Paint(frame, 0), palette, columns, lines);
  for (std::string& line : below) {
    line.resize(std::min(line.size(), static_cast<std::size_t>(columns)));
    text.push_back(std::move(line));
  }
  return text;
}

std::string PlaySession::Summary() const {
  if (scores_.empty()) {
    return fmt::format("{}: no episode ended, score {:g}", stage_->spec().name, score_);
  }
  return fmt::format("{}: {} episode{}, best {:g}, last {:g}", stage_->spec().name, scores_.size(),
                     scores_.size() == 1 ? "" : "s", *std::ranges::max_element(scores_),
                     scores_.back());
}

int PlaySession::UsualFps() const { return stage_->kind() == envs::FrameKind::kPicture ? 30 : 8; }

}  // namespace starling::play
