// Tiles of bf16 and their products by AMX, the matrix unit of Intel's processors since 2023.
//
// A tile is 16 lines of 64 bytes, one after another. A product of tiles adds up over 32 terms:
//   left tile    16 rows x 32 terms:    line i holds the 32 terms of row i
//   right tile   32 terms x 16 columns: line i holds, column by column, the pair of terms 2i, 2i + 1
// Each Pack function makes a tile of a part of a float matrix whose rows lie `width` apart; `from` is
// the part's first element.
#pragma once

#include "net/cpu/bfloat16.h"

namespace starling::net::cpu::amx {

inline constexpr int kTile = 16 * 32;  // Bfloat16s

// Whether the program was compiled for AMX, the processor has it and the system lets this process use
// it. Nothing below may be called otherwise.
bool Available();

// Between the two, this thread's tile registers are ours. Nothing else may use them meanwhile.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

// Left tile: 16 rows of the matrix, of which those from `rows` on are taken as zero, 32 columns.
void PackRows(const float* from, int width, int rows, Bfloat16* tile);
// Right tile: 32 rows of the matrix as terms, of which those from `rows` on are zero, 16 columns.
void PackPairs(const float* from, int width, int rows, Bfloat16* tile);
// Left tile of the transposed matrix: 16 columns as rows; 32 rows as terms, zero from `rows` on.
void PackRowsTransposed(const float* from, int width, int rows, Bfloat16* tile);
// Right tile of the transposed matrix: 32 columns as terms, 16 rows as columns.
void PackPairsTransposed(const float* from, int width, Bfloat16* tile);

// c (32, 32), rows `c_width` apart, = the product of 2 x `steps` left tiles with `steps` x 2 right ones.
// Tile (i, k) of the left is at a + i * a_next + k * kTile, tile (k, j) of the right at
// b + j * b_next + k * kTile.
void Multiply(const Bfloat16* a, int a_next, const Bfloat16* b, int b_next, int steps, float* c,
              int c_width);

}  // namespace starling::net::cpu::amx
