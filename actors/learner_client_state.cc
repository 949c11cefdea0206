// The client's part in cuts: the state that this actor goes on from, and the states it hands over.
#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "actors/learner_client.h"
#include "core/log.h"

namespace starling::actors {

namespace {

constexpr std::int64_t kAskAgainMs = 500;  // a part that has not come is asked for again

}  // namespace

std::optional<std::vector<std::byte>> LearnerClient::FetchState() {
  Session& session = *session_;
  std::vector<std::byte>& state = session.fetched_state;
  std::int64_t again_ms = 0;
  std::size_t asked = 0;  // bytes that were here when it asked
  while (state.size() < session.welcome.state) {
    if (clock_.NowMs() >= again_ms || state.size() > asked) {
      asked = state.size();
      again_ms = clock_.NowMs() + kAskAgainMs;
      if (!Send(wire::FetchState{asked})) again_ms = 0;
    }
    if (!Pump(kPumpMs)) return std::nullopt;
  }
  return std::exchange(state, {});
}

void LearnerClient::OnState(const wire::State& part) {
  std::vector<std::byte>& state = session_->fetched_state;
  // A part that was asked for twice comes twice.
  if (part.offset != state.size() || part.total != session_->welcome.state) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(part.bytes.data());
  state.insert(state.end(), bytes, bytes + part.bytes.size());
}

// Sends the state of this actor, which stands between two unrolls. Returns false if the client's
// state has changed.
bool LearnerClient::SendState() {
  const std::uint64_t version = std::exchange(session_->cut, 0);
  std::vector<std::byte> state;
  if (save_) save_(state);
  std::size_t offset = 0;
  do {
    const auto part = std::span(state).subspan(offset);
    const std::size_t size = std::min(part.size(), wire::kMaxStatePart);
    const wire::State body{.offset = offset,
                           .total = state.size(),
                           .bytes{reinterpret_cast<const char*>(part.data()), size}};
    if (!SendSoon(++session_->sequence, body, {}, version)) return false;
    offset += size;
  } while (offset < state.size());
  return true;
}

}  // namespace starling::actors
