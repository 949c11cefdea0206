// One of several arrays that are observed together (Gymnasium's Dict and Tuple).
//
// In a row of observations, the numbers of the entries stand one after the other.
#pragma once

#include <cstddef>
#include <string>

namespace starling {

struct ObservationEntry {
  std::string name;
  int height = 1, width = 1, channels = 1;  // (H, W, C), C order; a row of n numbers is (1, 1, n)
  float low = 0, high = 1;                  // every value lies within

  int size() const { return height * width * channels; }
  bool picture() const { return height > 1 || width > 1; }
  friend bool operator==(const ObservationEntry&, const ObservationEntry&) = default;
};

inline constexpr int kMaxEntries = 256;           // of an observation
inline constexpr std::size_t kMaxEntryName = 63;  // bytes

}  // namespace starling
