// Shard 0's connections with a scripted shard at the other end.
#include "learner/shards/shard_links.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

class ShardProtocolTest : public testing::Test {
 protected:
  static constexpr std::int64_t kPatienceMs = 20'000;

  ShardProtocolTest() { Say(wire::ShardHello{.shard = 1}, ShardLinks::Event::Kind::kHello); }

  // Sends `body` and waits until shard 0 has read it.
  void Say(const wire::Body& body, ShardLinks::Event::Kind kind) {
    ASSERT_TRUE(shard_.Send(wire::Encode({.sequence = ++sent_, .term = 1}, body)));
    std::array<wire::PollItem, 1> item{{{.socket = &links_.socket()}}};
    const std::int64_t end = clock_.NowMs() + kPatienceMs;
    while (clock_.NowMs() < end) {
      if (const auto event = links_.Receive(); event && event->kind == kind) return;
      wire::Poll(item, 20);
    }
    FAIL() << "shard 0 did not hear it";
  }
  // The next message of shard 0, which sends what waits meanwhile.
  std::optional<wire::Body> Next() {
    wire::Envelope envelope;
    std::array<wire::PollItem, 1> item{{{.socket = &shard_}}};
    const std::int64_t end = clock_.NowMs() + kPatienceMs;
    while (!shard_.Receive(envelope)) {
      if (clock_.NowMs() > end) return std::nullopt;
      links_.Receive();
      wire::Poll(item, 1);
    }
    const auto decoded = wire::Decode(envelope.frames(), 0);
    EXPECT_TRUE(decoded) << wire::RefusalName(decoded.refusal);
    return decoded.message.body;
  }

  TempDir dir_;
  SteadyClock clock_;
  wire::Context context_;
  ShardLinks links_{context_,
                    {.endpoint = "ipc://" + (dir_ / "shards").string(), .term = 1, .session = 1}};
  wire::ClientSocket shard_{
      context_, links_.socket().endpoint(), {.receive_queue = 16, .send_queue = 16}};
  std::uint64_t sent_ = 0;
};

// 1,024 actors with 16 gradients in flight ended the learner with a CHECK.
TEST_F(ShardProtocolTest, AnUpdateMayHaveMoreGradientsThanAMessage) {
  constexpr std::size_t kGradients = 2 * 1024 * 16 + 1;
  UpdateRecord record{.version = 7};
  Update update;
  update.version = 7;
  for (std::uint32_t i = 0; i < kGradients; ++i) {
    record.items.push_back({.slot = i, .incarnation = 65'536, .sequence = i});
    update.gradients.push_back({.values = {}, .weight = 0.5f, .sums = i % 2 == 1});
  }
  links_.BroadcastUpdate(record, update, /*checkpoint=*/false);
  std::vector<std::uint32_t> slots;
  while (true) {
    const auto body = Next();
    ASSERT_TRUE(body && std::holds_alternative<wire::ApplyUpdate>(*body));
    const auto& order = std::get<wire::ApplyUpdate>(*body);
    for (const auto& item : order.items) {
      slots.push_back(item.slot);
      EXPECT_EQ(item.sums, item.slot % 2);
    }
    if (order.more == 0) break;
  }
  ASSERT_EQ(slots.size(), kGradients);
  EXPECT_TRUE(std::ranges::is_sorted(slots));
}

// A full queue was taken for a shard that is gone, and the whole learner started again.
TEST_F(ShardProtocolTest, AShardThatReadsLateGetsEverything) {
  constexpr std::uint64_t kMessages = 30'000;
  for (std::uint64_t i = 1; i <= kMessages; ++i) links_.Discard({.slot = 0, .sequence = i}, 1);
  EXPECT_TRUE(links_.all_reachable());
  for (std::uint64_t i = 1; i <= kMessages; ++i) {
    const auto body = Next();
    ASSERT_TRUE(body && std::holds_alternative<wire::DiscardSlice>(*body));
    ASSERT_EQ(std::get<wire::DiscardSlice>(*body).gradient, i);
  }
}

}  // namespace
}  // namespace starling::learner
