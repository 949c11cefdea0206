// Ops on the rows of an array: columns are copied, rows summed, logits of forbidden values set. The
// functions run on the host, in float and double; cuda/rows.h has those of a GPU.
//
// Thread safety: pure functions.
#pragma once

namespace starling::net {

// to[i, j] = from[i, j] for i < n, j < WIDTH. The rows of both arrays may be longer; a `from_row`
// of 0 repeats one row.
template <class T>
struct CopyColumnsArgs {
  int n, width;
  const T* from;  // (n, from_row), from its first column to be copied on
  int from_row;
  T* to;  // (n, to_row), likewise
  int to_row;
};
template <class T>
void CopyColumns(const CopyColumnsArgs<T>& args);

// sum[j] = the sum of x[i, j] over i.
template <class T>
struct SumRowsArgs {
  int n, width;
  const T* x;  // (n, row), from its first column on
  int row;
  T* sum;  // (WIDTH)
};
template <class T>
void SumRows(const SumRowsArgs<T>& args);

// logits = kForbidden (net/policy.h) where the mask is 0.
template <class T>
struct MaskLogitsArgs {
  int n, width;
  const T* mask;  // (n, row), from its first column on
  int row;
  T* logits;  // (n, WIDTH)
};
template <class T>
void MaskLogits(const MaskLogitsArgs<T>& args);

}  // namespace starling::net
