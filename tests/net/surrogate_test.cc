// The forms of the loss for data that is used more than once: PPO, clipped values, the decoupled
// objective, normalised advantages, minibatches.
#include "net/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "core/safetensors.h"
#include "net/loss.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::RelativeError;

// ---- by hand: one sample with advantage A, old log probability 0 or that of `old`

struct Sample {
  double advantage = 0, logp = 0, proximal = 0, old = 0;
};

PolicyTerm<double> TermOf(const Sample& sample) {
  const std::int32_t taken = 0;
  const double nothing = 0;
  return PolicyTermOf<double>({.taken = &taken,
                               .advantages = &sample.advantage,
                               .returns = &nothing,
                               .old_logps = &sample.old,
                               .proximal_logps = &sample.proximal},
                              0, sample.logp, 0.2);
}

// Ratio e^0.1 = 1.105: inside of the clip, loss -r A, slope r A. Ratio 2 and 1/2: outside; the loss
// is that of the clip where the advantage pulls further out, and of the ratio where it pulls back.
TEST(PolicyTermTest, ClipsWhereTheAdvantagePullsFurtherOut) {
  const double inside = std::exp(0.1);
  for (const double advantage : {3.0, -3.0}) {
    const auto term = TermOf({.advantage = advantage, .logp = 0.1});
    EXPECT_DOUBLE_EQ(term.loss, -inside * advantage);
    EXPECT_DOUBLE_EQ(term.push, inside * advantage);
    EXPECT_EQ(term.clipped, 0);
  }
  const auto up_good = TermOf({.advantage = 3, .logp = std::log(2.0)});
  EXPECT_DOUBLE_EQ(up_good.loss, -1.2 * 3);
  EXPECT_EQ(up_good.push, 0);
  EXPECT_EQ(up_good.clipped, 1);
  const auto up_bad = TermOf({.advantage = -3, .logp = std::log(2.0)});
  EXPECT_DOUBLE_EQ(up_bad.loss, 2 * 3);
  EXPECT_DOUBLE_EQ(up_bad.push, 2 * -3);
  const auto down_good = TermOf({.advantage = 3, .logp = std::log(0.5)});
  EXPECT_DOUBLE_EQ(down_good.loss, -0.5 * 3);
  EXPECT_DOUBLE_EQ(down_good.push, 0.5 * 3);
  const auto down_bad = TermOf({.advantage = -3, .logp = std::log(0.5)});
  EXPECT_DOUBLE_EQ(down_bad.loss, 0.8 * 3);
  EXPECT_EQ(down_bad.push, 0);
}

// Old policy e^-1, proximal e^-0.5, now e^-0.4: ratio e^0.1 to the proximal one, inside of the clip
// although e^0.6 to the old one is not; weight e^0.5.
TEST(PolicyTermTest, DecoupledMeasuresTheRatioFromTheProximalPolicy) {
  const auto term = TermOf({.advantage = 2, .logp = -0.4, .proximal = -0.5, .old = -1});
  EXPECT_DOUBLE_EQ(term.push, 2 * std::exp(0.6));
  EXPECT_NEAR(term.loss, -2 * std::exp(0.6), 1e-14);
  EXPECT_EQ(term.clipped, 0);
  EXPECT_NEAR(term.kl, std::exp(0.6) - 1 - 0.6, 1e-14);
}

// Return 1, value 0.2 now and 0 then, limit 0.1: the limited value is 0.1, its error 0.9; the
// larger loss is 0.9^2 and does not depend on the value. Moved away from the return, to -0.2: error
// 1.2 against 1.1 of the limited one.
TEST(ValueTermTest, TheLargerLossCounts) {
  const double returns = 1, old = 0;
  const auto term = [&](double value) {
    return ValueTermOf<double>(
        {.taken = nullptr, .advantages = nullptr, .returns = &returns, .old_values = &old}, 0,
        value, 0.1);
  };
  EXPECT_DOUBLE_EQ(term(0.2).loss, 0.81);
  EXPECT_EQ(term(0.2).error, 0);
  EXPECT_DOUBLE_EQ(term(-0.2).loss, 1.44);
  EXPECT_DOUBLE_EQ(term(-0.2).error, -1.2);
  EXPECT_DOUBLE_EQ(term(0.05).loss, 0.95 * 0.95);
  EXPECT_DOUBLE_EQ(term(0.05).error, -0.95);
}

// 1, 2, 4, 9: mean 4, sum of squares 9 + 4 + 0 + 25 = 38, deviation sqrt(38 / 3).
TEST(MomentsTest, DeviationOfNMinusOne) {
  const std::vector<float> advantages{9, 7, 1, 2, 4};
  const std::vector<std::int32_t> rows{2, 3, 4, 0};
  Moments moments;
  AdvantageMoments<float>(
      {.n = 4, .rows = rows.data(), .advantages = advantages.data(), .moments = &moments});
  EXPECT_DOUBLE_EQ(moments.mean, 4);
  EXPECT_NEAR(moments.deviation, std::sqrt(38.0 / 3), 1e-7);
  AdvantageMoments<float>({.n = 1, .advantages = advantages.data(), .moments = &moments});
  EXPECT_DOUBLE_EQ(moments.mean, 9);
  EXPECT_EQ(moments.deviation, 1e-8);
}

// ---- against PyTorch (tests/golden/make_golden.py)

struct Form {
  std::string name;
  bool ratio = false, normalized = false, values = false, decoupled = false;
};

std::vector<Form> FormsIn(const std::string& text) {
  std::vector<Form> forms;
  std::istringstream all(text);
  for (std::string one; std::getline(all >> std::ws, one, ',');) {
    const auto has = [&](const char* option) { return one.find(option) != std::string::npos; };
    forms.push_back({.name = one.substr(0, one.find(':')),
                     .ratio = has(" ratio"),
                     .normalized = has(" normalized"),
                     .values = has(" values"),
                     .decoupled = has(" decoupled")});
  }
  return forms;
}

template <class T>
void CompareForms(double tolerance) {
  const SafetensorsFile file =
      SafetensorsFile::Read(STARLING_SOURCE_DIR "/tests/golden/losses.safetensors");
  const auto number = [&](const char* key) { return std::stod(file.metadata().at(key)); };
  const auto array = [&](const char* name) {
    const auto floats = file.F32(name);
    return std::vector<T>(floats.begin(), floats.end());
  };
  const std::vector<T> logits = array("logits"), values = array("values");
  const std::vector<T> advantages = array("advantages"), returns = array("returns");
  const std::vector<T> old_logps = array("old_logps"), proximal = array("proximal_logps");
  const std::vector<T> old_values = array("old_values");
  const auto taken64 = file.I64("taken"), rows64 = file.I64("rows");
  const std::vector<std::int32_t> taken(taken64.begin(), taken64.end());
  const std::vector<std::int32_t> rows(rows64.begin(), rows64.end());
  const auto n = static_cast<int>(rows.size());

  const std::vector<Form> forms = FormsIn(file.metadata().at("forms"));
  ASSERT_EQ(forms.size(), 7u);
  for (const Form& form : forms) {
    SCOPED_TRACE(form.name);
    Moments moments;
    AdvantageMoments<T>(
        {.n = n, .rows = rows.data(), .advantages = advantages.data(), .moments = &moments});
    const LossWeights weights{.value_coef = number("value_coef"),
                              .entropy = number("entropy"),
                              .clip = number("clip"),
                              .value_clip = form.values ? number("value_clip") : 0};
    std::vector<T> dlogits(logits.size()), dvalues(values.size());
    LossReport report;
    ActorCriticLoss<T>(
        {.n = n,
         .policy = OneChoice(static_cast<int>(logits.size()) / n),
         .logits = logits.data(),
         .values = values.data(),
         .samples = {.rows = rows.data(),
                     .taken = taken.data(),
                     .advantages = advantages.data(),
                     .returns = returns.data(),
                     .moments = form.normalized ? &moments : nullptr,
                     .old_logps = form.ratio ? old_logps.data() : nullptr,
                     .proximal_logps = form.decoupled ? proximal.data() : old_logps.data(),
                     .old_values = form.ratio ? old_values.data() : nullptr},
         .weights = &weights,
         .dlogits = dlogits.data(),
         .dvalues = dvalues.data(),
         .report = &report});
    const std::vector<double> losses{report.policy_loss, report.value_loss, report.entropy,
                                     report.kl, report.clipped};
    EXPECT_LT(RelativeError(losses, file.F64(form.name + ".losses")), tolerance);
    EXPECT_LT(RelativeError(dlogits, file.F64(form.name + ".dlogits")), tolerance);
    EXPECT_LT(RelativeError(dvalues, file.F64(form.name + ".dvalues")), tolerance);
    EXPECT_EQ(report.clipped > 0 && report.clipped < 1, form.ratio) << "both sides of the clip";
  }
}

TEST(LossFormsTest, AgreeWithPyTorchInDouble) { CompareForms<double>(1e-12); }
TEST(LossFormsTest, AgreeWithPyTorchInFloat) { CompareForms<float>(1e-5); }

}  // namespace
}  // namespace starling::net
