#include "net/rows.h"

#include <algorithm>
#include <cstdint>

#include "net/policy.h"

namespace starling::net {

template <class T>
void CopyColumns(const CopyColumnsArgs<T>& args) {
  for (std::int64_t i = 0; i < args.n; ++i) {
    std::copy_n(args.from + i * args.from_row, args.width, args.to + i * args.to_row);
  }
}

template <class T>
void SumRows(const SumRowsArgs<T>& args) {
  std::fill_n(args.sum, args.width, T(0));
  for (std::int64_t i = 0; i < args.n; ++i) {
    for (int j = 0; j < args.width; ++j) args.sum[j] += args.x[i * args.row + j];
  }
}

template <class T>
void MaskLogits(const MaskLogitsArgs<T>& args) {
  for (std::int64_t i = 0; i < args.n; ++i) {
    for (int j = 0; j < args.width; ++j) {
      if (args.mask[i * args.row + j] == T(0)) args.logits[i * args.width + j] = T(kForbidden);
    }
  }
}

template void CopyColumns(const CopyColumnsArgs<float>&);
template void CopyColumns(const CopyColumnsArgs<double>&);
template void SumRows(const SumRowsArgs<float>&);
template void SumRows(const SumRowsArgs<double>&);
template void MaskLogits(const MaskLogitsArgs<float>&);
template void MaskLogits(const MaskLogitsArgs<double>&);

}  // namespace starling::net
