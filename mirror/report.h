// The message of a rank to all others, one a turn: its gradient without the values, whether it must
// stop, and the hash of its weights.
//
// Thread safety: the functions share nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/state_bytes.h"
#include "mirror/world.h"
#include "net/norm.h"
#include "wire/protocol.h"

namespace starling::mirror {

// A gradient whose values stay with its rank.
struct Computed {
  wire::Header header{};  // its base is header.version
  wire::Gradient body{};
  net::FiniteNorm norm{};  // of the values
};

// What only rank 0 knows, and all must take into account alike.
struct Circumstances {
  double seconds = 0;           // of training
  bool may_save = false;        // no checkpoint is being written
  bool save_failed = false;     // the last one was not written
  bool journal_broken = false;  // it lacks records
};

struct Report {
  std::optional<Computed> gradient{};
  bool stop = false;                   // the rank was told to stop: all end after this turn
  std::uint64_t hashed = 0, hash = 0;  // version of the newest hash of the weights, and that hash
  Circumstances circumstances{};       // of rank 0
};

Bytes Pack(Report report);
// Returns the reports of all ranks, which are the bytes in the same order. Throws
// std::runtime_error with a sentence if one is of another version of Starling.
std::vector<Report> Unpack(const std::vector<Bytes>& packed);

// CHECKs that all ranks hold the same weights. A difference is our bug: the runs have parted.
void CheckSameWeights(std::span<const Report> reports);

}  // namespace starling::mirror
