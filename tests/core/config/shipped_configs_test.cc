// configs/reference.toml is the manual of the configuration: this keeps it complete and true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "core/config/config.h"
#include "core/config/config_schema.h"
#include "core/file.h"

namespace starling {
namespace {

using testing::HasSubstr;

const std::filesystem::path kConfigs = std::filesystem::path(STARLING_SOURCE_DIR) / "configs";

// "section.key" of every setting in `text`, with the comment lines directly above it as one line.
std::multimap<std::string, std::string> Comments(const std::string& text) {
  std::multimap<std::string, std::string> comments;
  std::string section, comment, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    if (line.starts_with("# ")) {
      comment += line.substr(1);
      continue;
    }
    if (line.starts_with("[")) section = line.substr(1, line.find(']') - 1);
    if (const std::size_t equals = line.find(" = "); equals != std::string::npos) {
      comments.emplace(section + "." + line.substr(0, equals), comment);
    }
    comment.clear();
  }
  return comments;
}

// The phrases that a key's comment must contain, by its rule.
std::vector<std::string> MustSay(const ConfigRule& rule) {
  std::vector<std::string> phrases;
  if (const auto* words = std::get_if<WordRule>(&rule)) {
    for (const auto& word : words->words) phrases.push_back(WordText(word));
  } else {
    phrases.push_back(Allowed(rule));
  }
  return phrases;
}

TEST(ReferenceToml, EveryKeyOnceWithACommentThatTellsWhatIsAllowed) {
  const auto comments = Comments(ReadFile(kConfigs / "reference.toml"));
  EXPECT_EQ(comments.size(), ConfigSchema().size());
  for (const ConfigKey& key : ConfigSchema()) {
    ASSERT_EQ(comments.count(key.name()), 1u) << key.name();
    const std::string& comment = comments.find(key.name())->second;
    for (const std::string& phrase : MustSay(key.rule)) {
      EXPECT_THAT(comment, HasSubstr(phrase)) << key.name();
    }
  }
}

TEST(ReferenceToml, EveryValueIsTheDefault) {
  EXPECT_EQ(LoadConfig(kConfigs / "reference.toml"),
            ParseConfig("", (kConfigs / "reference.toml").string()));
}

TEST(ReferenceToml, IsWrittenInTheOrderOfTheSchema) {
  const std::string text = ReadFile(kConfigs / "reference.toml");
  std::size_t last = 0;
  for (const ConfigKey& key : ConfigSchema()) {
    const std::size_t section = text.find("[" + key.section + "]\n");
    const std::size_t place = text.find("\n" + key.key + " = ", section);
    EXPECT_GT(place, last) << key.name();
    last = place;
  }
}

TEST(ShippedConfigs, AllOfThemLoad) {
  for (const auto& [directory, at_least] : {std::pair{kConfigs, 3}, {kConfigs / "simulate", 3}}) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() != ".toml") continue;
      const Config config = LoadConfig(entry.path());
      EXPECT_EQ(config.run.name, entry.path().stem());
      ++count;
    }
    EXPECT_GE(count, at_least) << directory;
  }
}

// The configs of simulated fleets differ from the game's own configuration in the fleet alone.
TEST(ShippedConfigs, SimulatedFleetsPlayBreakoutAsItIsTrained) {
  const Config breakout = LoadConfig(kConfigs / "breakout.toml");
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "simulate")) {
    Config config = LoadConfig(entry.path());
    EXPECT_NE(config.simulate, breakout.simulate) << entry.path();
    config.run = breakout.run;
    config.actors = breakout.actors;
    config.updates = breakout.updates;
    config.automatic = breakout.automatic;
    config.optimizer.lr_samples = breakout.optimizer.lr_samples;
    config.staleness = breakout.staleness;
    config.simulate = breakout.simulate;
    EXPECT_EQ(config, breakout) << entry.path();
  }
}

TEST(ShippedConfigs, BreakoutIsTheSettingThatWasMeasured) {
  const Config config = LoadConfig(kConfigs / "breakout.toml");
  EXPECT_EQ(config.env.name, "minatar/breakout");
  EXPECT_EQ(config.run.steps, 5'000'000u);
  EXPECT_EQ(config.samples_per_gradient(), 160);
  EXPECT_EQ(config.net.hidden, (std::vector<std::int64_t>{256}));
  EXPECT_EQ(config.loss.gamma, 0.98);
  EXPECT_EQ(config.loss.entropy, 0.03);
  EXPECT_EQ(config.optimizer.epsilon_place, EpsilonPlace::kOutside);
  EXPECT_EQ(config.staleness.bound, kUnbounded);
}

TEST(ShippedConfigs, OneSettingForAllGamesOfMinAtar) {
  const Config breakout = LoadConfig(kConfigs / "breakout.toml");
  for (const std::string game : {"asterix", "freeway", "seaquest", "space_invaders"}) {
    Config config = LoadConfig(kConfigs / (game + ".toml"));
    EXPECT_EQ(config.env.name, "minatar/" + game);
    config.run = breakout.run;
    config.env.name = breakout.env.name;
    EXPECT_EQ(config, breakout) << game;
  }
}

// Resets the keys that define a point of the spectrum; all others are as shipped for the game.
void ForgetTheDial(Config& config) {
  const Config plain = ParseConfig("", "plain.toml");
  config.run.name = config.run.dir = "";
  config.actors.count = 8;
  config.actors.groups = plain.actors.groups;
  config.net.stages = plain.net.stages;
  config.loss.kind = plain.loss.kind;
  config.loss.normalize_advantage = plain.loss.normalize_advantage;
  config.updates = plain.updates;
  config.automatic = plain.automatic;
  config.staleness = plain.staleness;
  config.learner = plain.learner;
  config.optimizer.scale_lr = plain.optimizer.scale_lr;
  config.optimizer.warmup_steps = plain.optimizer.warmup_steps;
  config.optimizer.lr_samples = plain.optimizer.lr_samples;
  config.wire = plain.wire;
}

TEST(Spectrum, EachPointIsBreakoutWithEightActorsAndItsOwnDial) {
  Config breakout = LoadConfig(kConfigs / "breakout.toml");
  ForgetTheDial(breakout);
  std::map<std::string, Config> points;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "spectrum")) {
    Config config = LoadConfig(entry.path());
    EXPECT_EQ(config.actors.count, 8) << entry.path();
    EXPECT_EQ(config.updates.in_flight, 1) << entry.path();
    points.emplace(entry.path().stem(), config);
    ForgetTheDial(config);
    EXPECT_EQ(config, breakout) << entry.path();
  }
  // The dial of each point.
  EXPECT_EQ(points.at("mirrored").staleness.bound, 0u);
  EXPECT_EQ(points.at("without_a_learner").updates.exchange, Exchange::kAllreduce);
  EXPECT_EQ(points.at("stages").net.stages, 2);
  EXPECT_EQ(points.at("data_again").loss.kind, LossKind::kPpo);
  EXPECT_EQ(points.at("data_again").gradients_per_unroll(), 4);
  EXPECT_EQ(points.at("softsync").updates.gradients, 4);
  EXPECT_EQ(points.at("softsync").staleness.bound, kUnbounded);
  EXPECT_EQ(points.at("auto").updates.gradients, 4);
  EXPECT_EQ(points.at("auto").staleness.bound, 1u);
  EXPECT_EQ(points.at("bounded_wait").staleness.on_exceed, OnExceed::kWait);
  EXPECT_EQ(points.at("bounded_drop").staleness.on_exceed, OnExceed::kDrop);
  EXPECT_EQ(points.at("bounded_drop").staleness.bound, points.at("bounded_wait").staleness.bound);
  EXPECT_EQ(points.at("damped").staleness.damping, Damping::kInverse);
  EXPECT_EQ(points.at("delayed").staleness.delay, 4u);
  EXPECT_EQ(points.at("mended").staleness.correction, Correction::kGap);
  EXPECT_EQ(points.at("free").staleness.bound, kUnbounded);
  EXPECT_EQ(points.at("free").updates.gradients, 1);
  EXPECT_EQ(points.at("hogwild").learner.apply, ApplyMode::kHogwild);
  EXPECT_GT(points.at("hogwild").learner.threads, 1);
  EXPECT_EQ(points.at("linear_scaling").optimizer.scale_lr, LrScaling::kLinear);
  EXPECT_EQ(points.at("linear_scaling").updates.gradients, 4);
  EXPECT_EQ(points.at("half_the_bytes").wire.gradient, NumberType::kBf16);
  EXPECT_EQ(points.at("half_the_bytes").wire.weights, NumberType::kBf16);
}

// docs/spectrum/auto.md has it as a table.
TEST(Spectrum, AutoIsTheFewestGradientsThatKeepActorsBelowTheBound) {
  const std::vector<std::int64_t> wanted = {8, 4, 3, 2, 2, 2, 2, 1, 1};
  for (std::size_t bound = 0; bound < wanted.size(); ++bound) {
    const Config config =
        LoadConfig(kConfigs / "spectrum/auto.toml", {"staleness.bound=" + std::to_string(bound)});
    EXPECT_EQ(config.updates.gradients, wanted[bound]) << "bound " << bound;
  }
}

}  // namespace
}  // namespace starling
