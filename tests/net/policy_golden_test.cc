// The loss over every kind of policy against PyTorch's own distributions: A2C and clipped PPO.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "core/safetensors.h"
#include "net/loss.h"
#include "net/rows.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::RelativeError;

const SafetensorsFile& PolicyFile() {
  static const SafetensorsFile file =
      SafetensorsFile::Read(STARLING_SOURCE_DIR "/tests/golden/policies.safetensors");
  return file;
}

double NumberOf(const char* key) { return std::stod(PolicyFile().metadata().at(key)); }

// A kind of policy, its outputs and the actions taken.
template <class T>
struct GoldenPolicy {
  std::string kind;
  std::vector<std::int32_t> counts, taken;
  std::vector<T> outputs;
  PolicyShape shape;

  explicit GoldenPolicy(const std::string& name) : kind(name) {
    const SafetensorsFile& file = PolicyFile();
    for (const float x : file.F32(kind + ".outputs")) outputs.push_back(x);
    shape.outputs = static_cast<int>(file.Shape(kind + ".outputs")[1]);
    shape.width = static_cast<int>(file.Shape(kind + ".taken")[1]);
    shape.box = kind == "gaussian" || kind == "tanh";
    shape.tanh = kind == "tanh";
    if (shape.box) {
      for (const float u : file.F32(kind + ".taken")) taken.push_back(WordOf(u));
    } else {
      for (const auto v : file.I64(kind + ".taken")) taken.push_back(static_cast<std::int32_t>(v));
    }
    if (kind == "choices") ReadCounts();
    if (kind == "masked") Mask();
  }
  GoldenPolicy(const GoldenPolicy&) = delete;

  int n() const { return static_cast<int>(outputs.size()) / shape.outputs; }

 private:
  void ReadCounts() {
    std::istringstream words(PolicyFile().metadata().at("counts"));
    for (int count = 0; words >> count;) counts.push_back(count);
    shape.counts = counts.data();
  }
  void Mask() {
    const auto allowed = PolicyFile().I64("allowed");
    const std::vector<T> mask(allowed.begin(), allowed.end());
    MaskLogits<T>({.n = n(),
                   .width = shape.outputs,
                   .mask = mask.data(),
                   .row = shape.outputs,
                   .logits = outputs.data()});
  }
};

template <class T>
std::vector<T> As(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// The entropy of tanh is a sum over 16 points there, an integral here.
template <class T>
void ComparePolicies(double tolerance) {
  const SafetensorsFile& file = PolicyFile();
  const std::vector<T> advantages = As<T>(file.F32("advantages"));
  const std::vector<T> zeros(advantages.size());
  std::istringstream kinds(file.metadata().at("policies"));
  int compared = 0;
  for (std::string kind; kinds >> kind; ++compared) {
    GoldenPolicy<T> policy(kind);
    const double within = kind == "tanh" ? std::max(tolerance, 2e-4) : tolerance;
    std::vector<T> logps(advantages.size());
    LogProbs<T>({.n = policy.n(),
                 .policy = policy.shape,
                 .logits = policy.outputs.data(),
                 .taken = policy.taken.data(),
                 .logps = logps.data()});
    EXPECT_LT(RelativeError(logps, file.F64(kind + ".logps")), tolerance) << kind;
    const std::vector<T> old_logps = As<T>(file.F32(kind + ".old_logps"));
    for (const std::string form : {"a2c", "ppo"}) {
      SCOPED_TRACE(kind + " " + form);
      const LossWeights weights{
          .value_coef = 0, .entropy = NumberOf("entropy"), .clip = NumberOf("clip")};
      std::vector<T> dlogits(policy.outputs.size()), dvalues(zeros.size());
      LossReport report;
      const T* const old = form == "ppo" ? old_logps.data() : nullptr;
      ActorCriticLoss<T>({.n = policy.n(),
                          .policy = policy.shape,
                          .logits = policy.outputs.data(),
                          .values = zeros.data(),
                          .samples = {.taken = policy.taken.data(),
                                      .advantages = advantages.data(),
                                      .returns = zeros.data(),
                                      .old_logps = old,
                                      .proximal_logps = old},
                          .weights = &weights,
                          .dlogits = dlogits.data(),
                          .dvalues = dvalues.data(),
                          .report = &report});
      const std::vector<double> losses{report.policy_loss, report.entropy};
      EXPECT_LT(RelativeError(losses, file.F64(kind + "." + form + ".losses")), within);
      EXPECT_LT(RelativeError(dlogits, file.F64(kind + "." + form + ".dlogits")), within);
      EXPECT_EQ(report.clipped > 0 && report.clipped < 1, form == "ppo") << "both sides";
    }
  }
  EXPECT_EQ(compared, 5);
}

TEST(PolicyGoldenTest, AgreesWithPyTorchInDouble) { ComparePolicies<double>(1e-12); }
TEST(PolicyGoldenTest, AgreesWithPyTorchInFloat) { ComparePolicies<float>(1e-5); }

}  // namespace
}  // namespace starling::net
