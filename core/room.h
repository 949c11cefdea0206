// Waiting for room on a full disk, which others may free.
#pragma once

#include <cerrno>
#include <cstdint>

namespace starling {

// Whether a write that failed with `error` (of errno) may succeed later. Not EFBIG: the limit of a
// file's size stays.
inline bool MayGetRoom(int error) { return error == ENOSPC || error == EDQUOT || error == EIO; }

inline constexpr std::int64_t kRoomRetryMs = 2'000;   // from one attempt to the next
inline constexpr std::int64_t kRoomWaitMs = 600'000;  // then it is given up

}  // namespace starling
