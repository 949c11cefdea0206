// Exported policies in ONNX Runtime, beside our own nets, where the Python of
// $STARLING_ONNX_PYTHON, or .venv-onnx (scripts/setup --onnx), has it.
#include "tools/exports/policy_onnx.h"

#include <gtest/gtest.h>

#include "tests/tools/exports/exported_policy.h"

namespace starling::exports {
namespace {

class PolicyOnnxTest : public ExportedPolicy {};

TEST_P(PolicyOnnxTest, ComputesWhatTheNetComputes) {
  const std::string python = PythonOf("STARLING_ONNX_PYTHON", ".venv-onnx/bin/python");
  if (!Has(python, "onnxruntime")) GTEST_SKIP() << "no ONNX Runtime; run scripts/setup --onnx";
  dir_.Write("policy.onnx", PolicyOnnx(config_, env_, weights_));
  Compare(python);
}
INSTANTIATE_TEST_SUITE_P(Of, PolicyOnnxTest, ::testing::ValuesIn(Cases()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace starling::exports
