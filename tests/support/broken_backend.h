// The reference with one op broken in a way in which fast ones break.
#pragma once

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "net/backend.h"

namespace starling::net::testing {

enum class Fault {
  kLeavesTheLast,     // element of its output as it was
  kOffByAThousandth,  // in the first
  kAdds,              // where it should replace
  kWritesBehind,      // its output's end
  kNoMask,
  kNoBias,
  kHidesNans,
  kThrows,
};

class BrokenBackend final : public Backend<float> {
 public:
  // `output`: which one is broken, of a pair of layers; of its gradients, 0 and 1 are biases.
  BrokenBackend(std::string op, Fault fault, int output = 0)
      : op_(std::move(op)), fault_(fault), output_(output) {}
  const char* name() const override { return "broken"; }

  void LinearForward(const LinearForwardArgs<float>& given) override {
    const auto bias = Bias("linear forward", given.shape.out, given.b);
    LinearForwardArgs<float> args = given;
    args.b = bias.data();
    Do("linear forward", args.y, args.n * args.shape.out, [&] { good_->LinearForward(args); });
  }
  void LinearAccumulate(const LinearShape& s, int n, const float* x, const float* w,
                        float* y) override {
    Do("linear accumulate", y, n * s.out, [&] { good_->LinearAccumulate(s, n, x, w, y); });
  }
  void LinearBackwardWeights(const LinearBackwardWeightsArgs<float>& args) override {
    Do("linear backward weights", args.db, args.shape.out,
       [&] { good_->LinearBackwardWeights(args); });
  }
  void LinearBackwardInput(const LinearBackwardInputArgs<float>& given) override {
    const auto args = Masked("linear backward input", given);
    Do("linear backward input", args.dx, args.n * args.shape.in,
       [&] { good_->LinearBackwardInput(args); });
  }
  void LinearBackward(const LinearBackwardArgs<float>& args) override {
    Do("linear backward", args.dx, args.n * args.shape.in, [&] {
      good_->LinearBackwardWeights(args.weights());
      good_->LinearBackwardInput(Masked("linear backward", args.input()));
    });
  }
  void PairForward(const LinearForwardArgs<float>& given,
                   const LinearForwardArgs<float>& second) override {
    const auto bias = Bias("pair forward", given.shape.out, given.b);
    LinearForwardArgs<float> first = given;
    first.b = bias.data();
    const LinearForwardArgs<float>& broken = output_ == 0 ? first : second;
    Do("pair forward", broken.y, broken.n * broken.shape.out,
       [&] { good_->PairForward(first, second); });
  }
  void PairBackwardWeights(const LinearBackwardWeightsArgs<float>& first,
                           const LinearBackwardWeightsArgs<float>& second) override {
    const LinearBackwardWeightsArgs<float>& broken = output_ % 2 == 0 ? first : second;
    const auto [in, out] = broken.shape;
    Do("pair backward weights", output_ < 2 ? broken.db : broken.dw, output_ < 2 ? out : in * out,
       [&] { good_->PairBackwardWeights(first, second); });
  }
  void PairBackwardInput(LinearBackwardInputArgs<float> first,
                         LinearBackwardInputArgs<float> second) override {
    Do("pair backward input", first.dx, first.n * first.shape.in, [&] {
      good_->PairBackwardInput(Masked("pair backward input", first),
                               Masked("pair backward input", second));
    });
  }
  void ConvForward(const ConvForwardArgs<float>& given) override {
    const auto bias = Bias("conv forward", given.shape.out_channels, given.b);
    ConvForwardArgs<float> args = given;
    args.b = bias.data();
    Do("conv forward", args.y, args.n * args.shape.out_size(), [&] { good_->ConvForward(args); });
  }
  void ConvBackwardWeights(const ConvBackwardWeightsArgs<float>& args) override {
    Do("conv backward weights", args.dw, args.shape.num_weights(),
       [&] { good_->ConvBackwardWeights(args); });
  }
  void ConvBackwardInput(const ConvBackwardInputArgs<float>& given) override {
    const auto args = Masked("conv backward input", given);
    Do("conv backward input", args.dx, args.n * args.shape.in_size(),
       [&] { good_->ConvBackwardInput(args); });
  }
  void Pad(const PadArgs<float>& args) override {
    Do("pad", args.y, args.n * args.shape.padded_size(), [&] { good_->Pad(args); });
  }
  void Crop(const CropArgs<float>& given) override {
    const auto args = Masked("crop", given);
    Do("crop", args.dx, args.n * args.shape.size(), [&] { good_->Crop(args); });
  }
  void MaxPoolForward(const MaxPoolForwardArgs<float>& args) override {
    Do("max pool forward", args.y, args.n * args.shape.out_size(),
       [&] { good_->MaxPoolForward(args); });
  }
  void MaxPoolBackward(const MaxPoolBackwardArgs<float>& given) override {
    const auto args = Masked("max pool backward", given);
    Do("max pool backward", args.dx, args.n * args.shape.size(),
       [&] { good_->MaxPoolBackward(args); });
  }
  void Add(const AddArgs<float>& given) override {
    const auto args = Masked("add", given);
    Do("add", args.y, args.count, [&] { good_->Add(args); });
  }
  void Activate(Activation activation, int count, const float* x, float* y) override {
    Do("activate", y, count, [&] { good_->Activate(activation, count, x, y); });
  }
  void ActivateBackward(const ActivateBackwardArgs<float>& given) override {
    const auto args = Masked("activate backward", given);
    Do("activate backward", args.dx, args.count, [&] { good_->ActivateBackward(args); });
  }
  void LayerNormForward(const LayerNormForwardArgs<float>& args) override {
    Do("layer norm forward", args.moments, 2 * args.n, [&] { good_->LayerNormForward(args); });
  }
  void LayerNormBackward(const LayerNormBackwardArgs<float>& given) override {
    const auto args = Masked("layer norm backward", given);
    float* const written = args.dscale != nullptr ? args.dscale : args.dx;
    Do("layer norm backward", written, args.width, [&] { good_->LayerNormBackward(args); });
  }
  void LstmCellForward(const LstmCellForwardArgs<float>& args) override {
    Do("lstm cell forward", args.h, args.n * args.hidden, [&] { good_->LstmCellForward(args); });
  }
  void LstmCellBackward(const LstmCellBackwardArgs<float>& args) override {
    Do("lstm cell backward", args.dgates, 4 * args.n * args.hidden,
       [&] { good_->LstmCellBackward(args); });
  }
  void GruCellForward(const GruCellForwardArgs<float>& args) override {
    Do("gru cell forward", args.h, args.n * args.hidden, [&] { good_->GruCellForward(args); });
  }
  void GruCellBackward(const GruCellBackwardArgs<float>& args) override {
    Do("gru cell backward", args.dh_sums, 3 * args.n * args.hidden,
       [&] { good_->GruCellBackward(args); });
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override {
    Do("keep state", to, n * width, [&] { good_->KeepState(width, n, resets, from, to); });
  }
  void SampleActions(const SampleActionsArgs<float>& args) override {
    Do("sample actions", args.taken, args.n * args.policy.width,
       [&] { good_->SampleActions(args); });
  }
  void CopyColumns(const CopyColumnsArgs<float>& args) override {
    Do("copy columns", args.to, args.width, [&] { good_->CopyColumns(args); });
  }
  void SumRows(const SumRowsArgs<float>& args) override {
    Do("sum rows", args.sum, args.width, [&] { good_->SumRows(args); });
  }
  void MaskLogits(const MaskLogitsArgs<float>& args) override {
    Do("mask logits", args.logits, args.n * args.width, [&] { good_->MaskLogits(args); });
  }
  void Standardize(const StandardizeArgs<float>& args) override {
    Do("standardize", args.to, args.width, [&] { good_->Standardize(args); });
  }
  void StandardizePictures(const StandardizePicturesArgs<float>& args) override {
    Do("standardize pictures", args.to, args.cells * args.channels,
       [&] { good_->StandardizePictures(args); });
  }
  void SumMoments(const SumMomentsArgs<float>& args) override {
    Do("sum moments", args.to, args.width * kSumsOfNumber, [&] { good_->SumMoments(args); });
  }
  void ScaleRewards(const ScaleRewardsArgs<float>& args) override {
    Do("scale rewards", args.rewards, args.n, [&] { good_->ScaleRewards(args); });
  }
  void AddBootstrap(const AddBootstrapArgs<float>& args) override {
    Do("add bootstrap", args.rewards, args.n, [&] { good_->AddBootstrap(args); });
  }
  void Advantages(const AdvantagesArgs<float>& args) override {
    Do("advantages", args.returns, args.shape.steps * args.shape.envs,
       [&] { good_->Advantages(args); });
  }
  void Loss(const LossArgs<float>& args) override {
    Do("loss", &args.report->entropy, 1, [&] { good_->Loss(args); });
  }
  void LogProbs(const LogProbsArgs<float>& args) override {
    Do("log probs", args.logps, args.n, [&] { good_->LogProbs(args); });
  }
  void AdvantageMoments(const MomentsArgs<float>& args) override {
    Do("advantage moments", &args.moments->deviation, 1, [&] { good_->AdvantageMoments(args); });
  }
  void Gather(int n, int width, const std::int32_t* rows, const float* from, float* to) override {
    Do("gather", to, n * width, [&] { good_->Gather(n, width, rows, from, to); });
  }
  void Gather(int n, int width, const std::int32_t* rows, const std::uint8_t* from,
              std::uint8_t* to) override {
    Do("gather", to, n * width, [&] { good_->Gather(n, width, rows, from, to); });
  }
  void ClipByGlobalNorm(std::size_t size, double max_norm, float* gradient, double* norm) override {
    Do("clip by global norm", gradient, static_cast<int>(size),
       [&] { good_->ClipByGlobalNorm(size, max_norm, gradient, norm); });
  }

 private:
  bool Is(const char* op, Fault fault) const { return op == op_ && fault == fault_; }
  template <class Args>
  Args Masked(const char* op, Args args) const {
    if (Is(op, Fault::kNoMask)) args.relu_output = nullptr;
    return args;
  }
  std::vector<float> Bias(const char* op, int size, const float* b) const {
    return Is(op, Fault::kNoBias) ? std::vector<float>(static_cast<std::size_t>(size))
                                  : std::vector<float>(b, b + size);
  }

  template <class T, class Work>
  void Do(const char* op, T* output, int count, Work work) {
    if (op != op_) return work();
    const std::vector<T> before(output, output + count);
    if (fault_ == Fault::kThrows) throw std::runtime_error("the op failed");
    work();
    if (fault_ == Fault::kLeavesTheLast) output[count - 1] = before.back();
    if (fault_ == Fault::kOffByAThousandth) {
      output[0] = static_cast<T>(output[0] + output[0] / 1000);
    }
    if (fault_ == Fault::kWritesBehind) output[count] = 1;
    for (int i = 0; i < count; ++i) {
      if (fault_ == Fault::kAdds) {
        output[i] = static_cast<T>(output[i] + before[static_cast<std::size_t>(i)]);
      }
      if (fault_ == Fault::kHidesNans && std::isnan(output[i])) output[i] = 0;
    }
  }

  const std::string op_;
  const Fault fault_;
  const int output_;
  const std::unique_ptr<Backend<float>> good_ = MakeReferenceBackend<float>();
};

}  // namespace starling::net::testing
