#include "core/version.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl_version.h>
#include <zmq.h>

#include <string_view>

#include "core/config/words.h"
#include "core/instructions.h"

namespace starling {
namespace {

std::string Compiler() {
#if defined(__clang__)
  return fmt::format("clang++ {}.{}", __clang_major__, __clang_minor__);
#else
  return fmt::format("g++ {}.{}", __GNUC__, __GNUC_MINOR__);
#endif
}

// The STARLING_... names come from core/CMakeLists.txt.
std::string Line(const std::string& program, std::string_view processor) {
  const std::string_view sanitizers = STARLING_SANITIZERS;
  return fmt::format("{} {} ({}, {}, {}, {}oneDNN {}.{}.{}, ZeroMQ {}.{}.{}, {})", program,
                     STARLING_VERSION, STARLING_BUILD_TYPE, Compiler(), processor,
                     sanitizers.empty() ? "" : fmt::format("sanitized for {}, ", sanitizers),
                     DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH, ZMQ_VERSION_MAJOR,
                     ZMQ_VERSION_MINOR, ZMQ_VERSION_PATCH, STARLING_CUDA_WORDS);
}

}  // namespace

std::string BuildLine(const std::string& program) { return Line(program, STARLING_PROCESSOR); }

std::string VersionLine(const std::string& program) {
  const Instructions best = BestInstructions();
  return best == Instructions::kNative
             ? BuildLine(program)
             : Line(program, fmt::format("{} with {}", STARLING_PROCESSOR, NameOf(best)));
}

}  // namespace starling
