// Bits of an unsigned number.
#pragma once

#include <bit>

namespace starling {

// Returns the index of the lowest bit that is set. REQUIRES: there is one.
//
// nvcc makes the constant 32 of std::countr_zero, which calls a builtin of the host's compiler that
// nvcc drops without a word. bit_width calls one that nvcc has. tests/gpu_code_test.sh finds
// std::countr_zero where nvcc compiles.
constexpr int LowestBit(unsigned bits) { return std::bit_width(bits & (0u - bits)) - 1; }

}  // namespace starling
