// The contract of an environment.
//
// A game is plain copyable state and a pure step: (state, action, chance) -> (state, reward,
// terminal). Chance is a source of draws (envs/chance.h): a random stream, or a script in tests and
// traces. VecEnv runs B games side by side. Each has its own stream, so an episode depends only on
// (seed, slot, life, env index), not on its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/action_space.h"
#include "core/observation_entry.h"
#include "core/random.h"
#include "core/state_bytes.h"

namespace starling::envs {

struct EnvSpec {
  std::string name;
  int height = 1, width = 1, channels = 1;  // observation (H, W, C), C order; vectors are (1, 1, n)
  ActionSpace actions{};
  std::vector<std::string> action_names;  // of the values of a single choice; else empty
  float low = 0.0f, high = 1.0f;          // every observed value lies within
  // Two or more, if an observation is several arrays: then it is (1, 1, n), theirs together.
  std::vector<ObservationEntry> entries{};
  int obs_size() const { return height * width * channels; }
  // Numbers of a row of observations: (H, W, C), and behind it the mask of the actions, if any.
  std::size_t row() const { return obs_size() + actions.mask(); }
};

// How a step left the episode. For training, every value except kRunning is an end.
enum class End : std::uint8_t {
  kRunning = 0,
  kTerminated = 1,  // the game is over, or a life is lost and env.life_loss_ends
  kTruncated = 2,   // a time limit: the game could go on from VecEnv::truncated()
  kCut = 3,         // its process was replaced
};

inline constexpr std::int64_t kLongestEpisode = std::int64_t{1} << 60;  // steps

// An episode that ended, counted in undiscounted, unclipped rewards and in steps of the agent.
struct EpisodeEnd {
  int env = 0;
  double episode_return = 0;
  std::int64_t length = 0;
  End end = End::kTerminated;  // kCut: its process was replaced, the return is not the game's

  friend bool operator==(const EpisodeEnd&, const EpisodeEnd&) = default;
};

// TakeEpisodes of envs on a GPU gives at most so many episodes of a lot, the newest. A learner
// averages as many (learner/counters.h).
inline constexpr int kKeptEpisodes = 100;

// The most unrolls of an actor on a GPU that are under way, and the most lots that wait.
inline constexpr int kMaxUnderWay = 2;

// The observation that a truncated episode ends on; the reset that follows hides it.
struct Truncated {
  int env = 0;
  std::span<const float> observation{};  // (H, W, C)
};

// The origin of a VecEnv's random streams.
struct EnvSeed {
  std::uint64_t seed = 0;
  std::uint32_t slot = 0, life = 0;
  std::uint32_t first = 0;  // of a group: its env 0 is this env of the actor, with its streams

  StreamId Stream(std::size_t env, Purpose purpose) const {
    return {seed, slot, life, first + static_cast<std::uint32_t>(env), purpose};
  }
};

// Called at least ten times a second during a wait for an env, and between the no-ops of a reset;
// may be empty. `asked_ms`: so long ago the process that is waited for was asked; 0 if something of
// its answer is here, or if it is no process. It may throw: then the envs can only be destroyed.
using WhileWaiting = std::function<void(std::int64_t asked_ms)>;

// The fields of the episodes of `num_envs` envs that are not yet taken.
void EpisodeFields(StateBytes& state, std::vector<EpisodeEnd>& episodes, int num_envs);

class VecEnv {
 public:
  virtual ~VecEnv() = default;
  virtual const EnvSpec& spec() const = 0;
  virtual int size() const = 0;  // B

  // Starts B fresh episodes; writes observations (B, H, W, C).
  virtual void Reset(std::span<float> observations) = 0;

  // True if Reset and Step queue work on a GPU and take arrays in its memory (MakeGpuEnv).
  virtual bool on_gpu() const { return false; }

  // One step in every env. An env that ends is reset at once: its row of `observations` is then the
  // first of the next episode, `terminals` is its End and `rewards` the last reward of the old one.
  // actions (B, width()) words of spec().actions; observations (B, row()); rewards (B); terminals
  // (B): values of End.
  void Step(std::span<const std::int32_t> actions, std::span<float> observations,
            std::span<float> rewards, std::span<std::uint8_t> terminals) {
    StepAsync(actions);
    StepWait(observations, rewards, terminals);
  }
  // The two halves of Step: envs in other processes play between them. `actions` must stay as they
  // are until StepWait, which must be the next call that is not const. Both throw UserError if an
  // env can no longer be played; then only destruction may follow.
  virtual void StepAsync(std::span<const std::int32_t> actions) = 0;
  virtual void StepWait(std::span<float> observations, std::span<float> rewards,
                        std::span<std::uint8_t> terminals) = 0;

  // The final observations of the envs that the last Step truncated, in the order of the envs,
  // preprocessed like all others. (`observations` shows the start of their next episode.) Valid
  // until the next Step or Reset. Empty, at no cost, for nearly all steps.
  virtual std::span<const Truncated> truncated() const { return {}; }

  // On a GPU: sets the episodes that ended since the last call aside, as one lot. When this work is
  // done, one TakeEpisodes takes the oldest lot. If kMaxUnderWay lots wait already, the oldest is
  // lost, and not counted. Never recorded (Gpu::Repeat). No effect on the host.
  virtual void QueueEpisodes() {}
  // Appends the episodes that ended since the last call, or the oldest lot of them, to `out`, in
  // (step, env) order.
  virtual void TakeEpisodes(std::vector<EpisodeEnd>& out) = 0;
  // Number of episodes so far that TakeEpisodes left out, because the lot had enough newer ones.
  virtual std::uint64_t untold() const { return 0; }

  // Number of env processes replaced so far.
  virtual std::uint64_t replaced() const { return 0; }
  // Nanoseconds so far in which calls waited for other processes, or for a pace.
  virtual std::int64_t waited_ns() const { return 0; }

  // Why these envs cannot be saved: a sentence; or "" if they can.
  virtual std::string WhyNotSaved() const {
    return "env.name: " + spec().name + " has no state that can be saved";
  }
  // Appends the whole state of all envs to `to`: games, random streams, wrappers, episodes under
  // way and not yet taken. truncated() is not a part of it. Waits for queued work. Changes nothing.
  // Throws StateError if the state cannot be had, from a plug-in or a process that failed.
  // REQUIRES: WhyNotSaved().empty().
  void Save(std::vector<std::byte>& to) { SaveState(*this, to); }
  // Puts these envs into a saved state, of envs of the same configuration and number, whatever
  // their seed: all further steps are those of the saved envs, bit for bit. Throws StateError if
  // `state` is not one; then only Reset may follow.
  void Restore(std::span<const std::byte> state) { RestoreState(*this, state); }

  // The fields of the state, for Save and Restore of this and of envs around it.
  virtual void Fields(StateBytes&) { throw StateError(WhyNotSaved()); }
};

}  // namespace starling::envs
