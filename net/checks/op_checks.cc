#include "net/checks/op_checks.h"

#include "net/checks/trial.h"

namespace starling::net {
namespace {

constexpr OpCheck kChecks[] = {
    {"linear forward", checks::LinearForward},
    {"linear accumulate", checks::LinearAccumulate},
    {"linear backward weights", checks::LinearBackwardWeights},
    {"linear backward input", checks::LinearBackwardInput},
    {"linear backward", checks::LinearBackward},
    {"pair forward", checks::PairForward},
    {"pair backward weights", checks::PairBackwardWeights},
    {"pair backward input", checks::PairBackwardInput},
    {"conv forward", checks::ConvForward},
    {"conv backward weights", checks::ConvBackwardWeights},
    {"conv backward input", checks::ConvBackwardInput},
    {"copy columns", checks::CopyColumns},
    {"sum rows", checks::SumRows},
    {"mask logits", checks::MaskLogits},
    {"pad", checks::Pad},
    {"crop", checks::Crop},
    {"max pool forward", checks::MaxPoolForward},
    {"max pool backward", checks::MaxPoolBackward},
    {"add", checks::Add},
    {"activate", checks::Activate},
    {"activate backward", checks::ActivateBackward},
    {"layer norm forward", checks::LayerNormForward},
    {"layer norm backward", checks::LayerNormBackward},
    {"lstm cell forward", checks::LstmCellForward},
    {"lstm cell backward", checks::LstmCellBackward},
    {"gru cell forward", checks::GruCellForward},
    {"gru cell backward", checks::GruCellBackward},
    {"keep state", checks::KeepState},
    {"standardize", checks::Standardize},
    {"standardize pictures", checks::StandardizePictures},
    {"sum moments", checks::SumMoments},
    {"scale rewards", checks::ScaleRewards},
    {"sample actions", checks::SampleActions},
    {"add bootstrap", checks::AddBootstrap},
    {"advantages", checks::Advantages},
    {"loss", checks::Loss},
    {"log probs", checks::LogProbs},
    {"advantage moments", checks::AdvantageMoments},
    {"gather", checks::Gather},
    {"clip by global norm", checks::ClipByGlobalNorm},
};

}  // namespace

std::span<const OpCheck> OpChecks() { return kChecks; }

OpError CheckOp(const OpCheck& check, Backend<float>& backend, Precision precision) {
  checks::Trial trial(backend, precision);
  check.run(trial);
  OpError worst = trial.worst();
  worst.op = check.op;
  return worst;
}

}  // namespace starling::net
