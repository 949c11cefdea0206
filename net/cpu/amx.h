// Tiles of bf16 and their products by AMX, the matrix unit of Intel's processors since 2023.
//
// A tile is 16 adjacent lines of 64 bytes. A product of two tiles sums over 32 terms:
//   left tile    16 rows x 32 terms:    line i holds the 32 terms of row i
//   right tile   32 terms x 16 columns: line i holds the terms 2i and 2i + 1 of each column
// Each Pack function writes one tile from part of a float matrix whose rows lie `width` floats
// apart; `from` is the first element of that part.
#pragma once

#include "core/bfloat16.h"

namespace starling::net::cpu::amx {

inline constexpr int kTile = 16 * 32;  // Bfloat16s

// Whether the program was compiled for AMX, the processor has it and the system permits its use.
// All functions below require it.
bool Available();

// Owns this thread's tile registers while it lives. REQUIRES: no other user of them on this thread.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

// Left tile from 16 rows and 32 columns. Rows from `rows` on count as zero.
void PackRows(const float* from, int width, int rows, Bfloat16* tile);
// Right tile from 32 rows (the terms) and 16 columns. Rows from `rows` on count as zero.
void PackPairs(const float* from, int width, int rows, Bfloat16* tile);
// Left tile of the transposed matrix: 32 rows (the terms; zero from `rows` on) and 16 columns.
void PackRowsTransposed(const float* from, int width, int rows, Bfloat16* tile);
// Right tile of the transposed matrix: from 16 rows and 32 columns (the terms).
void PackPairsTransposed(const float* from, int width, Bfloat16* tile);

// Rows of `steps` tiles each: tile k of row i is at tiles + i * next + k * kTile.
struct TileRows {
  const Bfloat16* tiles;
  int next;
};
// c (32, 32), with rows `c_width` floats apart, = two rows of left tiles . two rows of right tiles.
void Multiply(TileRows left, TileRows right, int steps, float* c, int c_width);

}  // namespace starling::net::cpu::amx
