// A small checkpoint in which every field differs from its default.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "learner/storage/checkpoint.h"

namespace starling::learner {

inline Checkpoint MakeCheckpoint(std::uint32_t term, std::uint64_t version,
                                 std::int64_t width = 5) {
  Checkpoint checkpoint;
  checkpoint.term = term;
  checkpoint.version = version;
  checkpoint.steps = 160 * version;
  checkpoint.optimizer_step = version;
  checkpoint.journal = {term, 2, 60 + version};
  checkpoint.journal_whole = false;
  checkpoint.layout.Add("fc1.weight", {3, width});
  checkpoint.layout.Add("fc1.bias", {width});
  checkpoint.layout.Add("value.weight", {width, 1});
  checkpoint.slot_names = {"square_avg"};
  checkpoint.weights.assign(checkpoint.layout.size(), 0.0f);
  checkpoint.optimizer_state.assign(1, std::vector<float>(checkpoint.layout.size(), 0.0f));
  for (const net::Parameter& parameter : checkpoint.layout.parameters()) {
    for (std::size_t i = 0; i < parameter.size; ++i) {
      const std::size_t at = parameter.offset + i;
      checkpoint.weights[at] = static_cast<float>(at) + 0.5f + static_cast<float>(version);
      checkpoint.optimizer_state[0][at] = 1 / static_cast<float>(at + 1);
    }
  }
  checkpoint.config = "[run]\nname = \"a \\\"b\\\" \u00e9\"\n";
  checkpoint.counters = R"({"received": 3, "dropped": {"stale": 1}})";
  return checkpoint;
}

inline void ExpectEqual(const Checkpoint& got, const Checkpoint& expected) {
  EXPECT_EQ(got.term, expected.term);
  EXPECT_EQ(got.version, expected.version);
  EXPECT_EQ(got.steps, expected.steps);
  EXPECT_EQ(got.optimizer_step, expected.optimizer_step);
  EXPECT_EQ(got.journal, expected.journal);
  EXPECT_EQ(got.journal_whole, expected.journal_whole);
  EXPECT_EQ(got.layout.fingerprint(), expected.layout.fingerprint());
  EXPECT_EQ(got.weights, expected.weights);
  EXPECT_EQ(got.slot_names, expected.slot_names);
  EXPECT_EQ(got.optimizer_state, expected.optimizer_state);
  EXPECT_EQ(got.config, expected.config);
  EXPECT_EQ(got.counters, expected.counters);
}

}  // namespace starling::learner
