#include "actors/actor.h"

#include <stdexcept>
#include <utility>

#include "actors/model_spec.h"
#include "actors/rollout.h"
#include "actors/train.h"
#include "core/config/config_rules.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/instructions.h"
#include "core/log.h"
#include "net/transposed.h"
#include "wire/protocol.h"

namespace starling::actors {

namespace {

// Trains until the client goes down.
void Train(LearnerClient& client, Rollout& rollout, const ActorsConfig& actors) {
  if (!client.CheckNet(rollout.layout().fingerprint(), rollout.layout().size())) return;
  LogInfo("slot {}, incarnation {}: {} envs x {} steps an unroll{}", client.slot(),
          client.incarnation(), actors.envs_per_actor, actors.unroll, rollout.where());
  rollout.runs_ahead() ? TrainAhead(client, rollout) : TrainInTurn(client, rollout);
}

// Puts the rollout into the state that the learner has for it. Returns false if that is of no use
// to it, or if the client has gone down.
bool Restore(LearnerClient& client, Rollout& rollout, bool& fresh) {
  const auto state = client.FetchState();
  if (!state) return false;
  try {
    rollout.Restore(*state);
    return true;
  } catch (const StateError& error) {
    LogWarn("the saved state of slot {} is of no use here ({}): beginning afresh", client.slot(),
            error.what());
  }
  client.SayGoodbye();
  fresh = true;
  return false;
}

// Runs one incarnation: from the welcome until the client goes down. Sets `fresh` if the next one
// must begin afresh.
void RunIncarnation(LearnerClient& client, const OwnSettings& own, bool& fresh) {
  if (client.config().net.external()) {
    throw UserError(
        "the net of this run is external, so its actors are programs of your own: start yours, or "
        "give its words to starling-actor after --");
  }
  const Config config = WithOwn(client.config(), own, client.proven());
  const bool first_life = wire::LifeOf(client.incarnation()) == 0;
  bool had_gpu = !first_life && config.actors.backend == DeviceChoice::kCuda;
  try {
    // A restored state brings its own life.
    const auto rollout = MakeRollout(
        config, client.slot(), client.life(), [&client] { client.Beat(); },
        [&client](std::int64_t asked_ms) { client.BeatWaiting(asked_ms); });
    had_gpu = rollout->on_gpu();
    client.SaveWith([&](std::vector<std::byte>& to) {
      try {
        if (rollout->WhyNotSaved().empty()) rollout->Save(to);
      } catch (const StateError& error) {
        LogWarn("this actor's state cannot be saved: {}", error.what());
      }
    });
    if (client.has_state() && !Restore(client, *rollout, fresh)) return;
    Train(client, *rollout, config.actors);
  } catch (const UserError& error) {
    if (!had_gpu) throw;
    // Losing a GPU that worked before is not the operator's mistake: the actor is started again.
    throw std::runtime_error(error.what());
  }
}

// What makes stages (net.stages) useless.
void WarnOfStages(const Config& config, const Replica& replica, std::size_t groups) {
  const std::int64_t stages = config.net.stages;
  if (replica.gpu != nullptr && stages > 1 && stages > std::ssize(FindGpus().gpus)) {
    LogWarn("net.stages = {} is more than there are GPUs: stages on one GPU gain nothing", stages);
  }
  if (stages > static_cast<std::int64_t>(groups)) {
    LogWarn(
        "net.stages = {} is more than this actor's groups of environments, {}: its stages wait "
        "for each other",
        stages, groups);
  }
}

// Other instructions than those of the run round differently.
void WarnOfInstructions(const Config& config, const Replica& replica) {
  const std::string others = OtherInstructions(config.actors.instructions);
  if (replica.gpu != nullptr || others.empty()) return;
  LogWarn("{}, so a replay or a redo will differ", others);
}

}  // namespace

std::unique_ptr<Rollout> MakeRollout(Config config, std::uint32_t slot, std::uint32_t life,
                                     const std::function<void()>& beat,
                                     const envs::WhileWaiting& while_waiting) {
  const auto make = [&] {
    const envs::EnvSeed seed{config.run.seed, slot, life};
    Replica replica = MakeReplica(config, slot);
    EnvGroups groups = MakePacedEnvs(config, replica, seed, while_waiting);
    WarnOfStages(config, replica, groups.size());
    WarnOfInstructions(config, replica);
    const std::string why = net::WhyTranspose(ModelSpecOf(config, groups[0]->spec()));
    if (slot == 0 && !why.empty()) LogWarn("{}", why);
    return std::make_unique<Rollout>(config, slot, life, std::move(replica), std::move(groups),
                                     beat);
  };
  if (config.actors.backend != DeviceChoice::kAuto) return make();
  try {
    const BackendChoice choice = ChooseBackend(config, FindGpus());
    const bool missed = choice.wished && !choice.gpu && slot == 0;  // once in a fleet
    LogLine(missed ? LogLevel::kWarn : LogLevel::kInfo, choice.why);
    if (choice.gpu) {
      if (beat) beat();  // the driver may take long to start
      return make();
    }
  } catch (const UserError& error) {
    LogWarn("{}; going on with the processor", error.what());
  }
  UseProcessor(config);
  return make();
}

ClientState RunActor(const ClientOptions& options, std::string& text, const OwnSettings& own) {
  FlushDenormals();
  LearnerClient client(options);
  bool fresh = false;  // the last incarnation could not go on from its state
  while (client.Join(std::exchange(fresh, false))) {
    try {
      RunIncarnation(client, own, fresh);
    } catch (const UserError&) {
      client.SayGoodbye();  // so that the learner does not wait for this actor's gradients
      throw;
    } catch (const AskedToLeave&) {
      LogInfo("asked to leave: an environment that has not answered is not waited for");
    }
    if (fresh) continue;
    if (client.state() != ClientState::kLost) break;
    LogInfo("the learner was lost; searching for it again");
  }
  if (client.state() == ClientState::kStopped) client.SayGoodbye();
  text = client.text();
  return client.state();
}

}  // namespace starling::actors
