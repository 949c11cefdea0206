#include "envs/chance.h"

#include <fmt/format.h>

namespace starling::envs {
namespace {

std::string Describe(const Draw& draw) {
  return draw.kind == Draw::Kind::kUniform
             ? std::string("a real in [0, 1)")
             : fmt::format("an integer in [{}, {})", draw.low, draw.high);
}

bool SameKind(const Draw& a, const Draw& b) {
  return a.kind == b.kind &&
         (a.kind == Draw::Kind::kUniform || (a.low == b.low && a.high == b.high));
}

}  // namespace

const Draw* ScriptedChance::Next(const Draw& asked) {
  if (!mismatch_.empty()) return nullptr;
  if (next_ == draws_.size()) {
    mismatch_ = fmt::format("the game asked for {} as draw {}, the script holds {}",
                            Describe(asked), next_ + 1, draws_.size());
    return nullptr;
  }
  const Draw& draw = draws_[next_];
  if (!SameKind(draw, asked)) {
    mismatch_ = fmt::format("the game asked for {} as draw {}, the script holds {}",
                            Describe(asked), next_ + 1, Describe(draw));
    return nullptr;
  }
  ++next_;
  return &draw;
}

double ScriptedChance::Uniform() {
  const Draw* draw = Next(Draw::Uniform(0));
  return draw ? draw->value : 0.0;
}

int ScriptedChance::Between(int low, int high) {
  const Draw* draw = Next(Draw::Integer(low, high, low));
  return draw ? static_cast<int>(draw->value) : low;
}

std::string ScriptedChance::Mismatch() const {
  if (!mismatch_.empty() || next_ == draws_.size()) return mismatch_;
  return fmt::format("{} of {} draws left over, the next is {}", draws_.size() - next_,
                     draws_.size(), Describe(draws_[next_]));
}

}  // namespace starling::envs
