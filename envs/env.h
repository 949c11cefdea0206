// The contract of an environment.
//
// A game is plain copyable state and a pure step: (state, action, chance) -> (state, reward, terminal),
// where chance is a source of draws (envs/chance.h): a random stream, or a script in tests and traces.
// VecEnv runs B such games side by side; every env has its own stream, so that an episode depends on
// (seed, slot, incarnation, env index) alone and not on what runs beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace starling::envs {

struct EnvSpec {
  std::string name;
  int height = 1, width = 1, channels = 1;  // observation (H, W, C), C order; vectors are (1, 1, n)
  int num_actions = 1;
  std::vector<std::string> action_names;  // num_actions of them
  float low = 0.0f, high = 1.0f;          // every observed value lies within
  int obs_size() const { return height * width * channels; }
};

// How a step left the episode. Everything but kRunning is an end to the one who trains.
enum class End : std::uint8_t {
  kRunning = 0,
  kTerminated = 1,  // the game is over, or a life is lost and env.life_loss_ends
  kTruncated = 2,   // a time limit: the game would have gone on from VecEnv::truncated()
  kCut = 3,         // the process that played it was replaced
};

// An episode that ended, counted in undiscounted, unclipped rewards and in steps of the agent.
struct EpisodeEnd {
  int env = 0;
  double episode_return = 0;
  std::int64_t length = 0;
  End end = End::kTerminated;  // kCut: its process was replaced, the return is not the game's
};

// What an env whose episode was truncated would have shown next.
struct Truncated {
  int env = 0;
  std::span<const float> observation{};  // (H, W, C)
};

// Where the streams of a VecEnv derive from; env index i of it draws from
// StreamId{seed, slot, incarnation, i, purpose kEnv}.
struct EnvSeed {
  std::uint64_t seed = 0;
  std::uint32_t slot = 0, incarnation = 0;
};

// Called ten times a second while an env in another process is waited for; may be empty.
using WhileWaiting = std::function<void()>;

class VecEnv {
 public:
  virtual ~VecEnv() = default;
  virtual const EnvSpec& spec() const = 0;
  virtual int size() const = 0;  // B

  // Starts B fresh episodes; writes observations (B, H, W, C).
  virtual void Reset(std::span<float> observations) = 0;

  // Whether Reset and Step only ask for work on a GPU, whose memory their arrays are then in (envs/gpu.h).
  virtual bool on_gpu() const { return false; }

  // One step in every env. An env that ends is reset at once: its row of `observations` is then the
  // first of the next episode, `terminals` is its End and `rewards` the last reward of the old one.
  // actions (B), each in [0, num_actions); observations (B, H, W, C); rewards (B); terminals (B):
  // values of End.
  virtual void Step(std::span<const std::int32_t> actions, std::span<float> observations,
                    std::span<float> rewards, std::span<std::uint8_t> terminals) = 0;

  // The final observations of the envs that the last Step truncated, in the order of the envs;
  // pooled, drawn and stacked like all others. (In `observations` their next episode has begun.)
  // Valid until the next Step or Reset. Nearly always empty, and then it has cost nothing.
  virtual std::span<const Truncated> truncated() const { return {}; }

  // Moves the episodes that ended since the last call, in (step, env) order, behind `out`.
  virtual void TakeEpisodes(std::vector<EpisodeEnd>& out) = 0;

  // Processes that played envs and were replaced so far.
  virtual std::uint64_t replaced() const { return 0; }

  // Same state, same future draws; null where the state lies in other processes or libraries.
  virtual std::unique_ptr<VecEnv> Clone() const = 0;
};

}  // namespace starling::envs
