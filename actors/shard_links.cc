#include "actors/shard_links.h"

#include <algorithm>
#include <utility>

namespace starling::actors {
namespace {

// Returns the endpoint of a shard. Over tcp a shard announces only its port: its host is that of
// the learner.
std::string Reach(const std::string& endpoint, const std::string& learner) {
  if (!endpoint.starts_with("tcp://") || !learner.starts_with("tcp://")) return endpoint;
  return learner.substr(0, learner.rfind(':')) + endpoint.substr(endpoint.rfind(':'));
}

}  // namespace

ShardLinks::ShardLinks(wire::Context& context, const Where& where, const Clock& clock)
    : where_(where),
      slices_(wire::CutIntoSlices(where.floats, where.others.size() + 1)),
      clock_(clock) {
  for (std::size_t i = 0; i < where.others.size(); ++i) {
    // 1. Open a socket for gradients and requests.
    const wire::ShardAddress& shard = where.others[i];
    Link link{.endpoint = Reach(shard.endpoint, where.learner),
              .slice = slices_[i + 1],
              .socket = {},
              .reader = {},
              .meta = {}};
    wire::SocketOptions options{.max_elements = link.slice.size, .linger_ms = 200};
    if (where.keys) {
      options.keys = where.keys->own;
      options.server_key = where.keys->server_key;
    }
    link.socket = std::make_unique<wire::ClientSocket>(context, link.endpoint, options);
    // 2. Open the shared weights if they are on this host.
    if (!shard.snapshot.empty()) {
      link.reader.emplace(shard.snapshot, link.slice.size, where.header.fingerprint);
    }
    links_.push_back(std::move(link));
  }
}

bool ShardLinks::Push(std::uint64_t sequence, std::uint64_t base,
                      const std::shared_ptr<const float[]>& gradient) {
  for (Link& link : links_) {
    if (link.pushed == sequence) continue;
    const std::shared_ptr<const float[]> slice(gradient, gradient.get() + link.slice.begin);
    const wire::SharedTensor tensor(slice, link.slice.size, where_.gradient_type);
    if (!Send(link, wire::GradientSlice{sequence}, base, tensor)) return false;
    link.pushed = sequence;
  }
  return true;
}

bool ShardLinks::Refresh(std::uint64_t version, std::span<float> weights,
                         wire::SnapshotMeta& oldest) {
  const Link* last = nullptr;
  bool all = true;
  for (Link& link : links_) {  // request every slice, even after one that is missing
    all = RefreshOne(link, version, weights.subspan(link.slice.begin, link.slice.size)) && all;
    if (!last || link.meta.version < last->meta.version) last = &link;
  }
  if (all) oldest = last->meta;
  return all;
}

bool ShardLinks::RefreshOne(Link& link, std::uint64_t version, std::span<float> slice) {
  if (!link.reader) return Fetched(link, version, slice);
  const bool held = link.meta.term == where_.header.term && link.meta.version >= version;
  const auto latest = link.reader->Latest();
  if (held && latest == link.meta.version) return true;  // the held weights are still the newest
  return latest >= version && link.reader->Read(version, slice, link.meta);
}

// Returns whether the slice is at least `version`. Repeats its request after fetch_again_ms,
// because an answer may be lost or too old.
bool ShardLinks::Fetched(Link& link, std::uint64_t version, std::span<float> slice) {
  // 1. Take the weights that have arrived; ignore those of another term or session.
  wire::Envelope envelope;
  while (link.socket->Receive(envelope)) {
    const wire::DecodeResult decoded =
        wire::Decode(envelope.frames(), link.slice.size, where_.weights_type);
    if (!decoded) continue;
    const auto& [header, body, tensor] = decoded.message;
    const auto* weights = std::get_if<wire::Weights>(&body);
    if (!weights || header.term != where_.header.term || header.session != where_.header.session ||
        header.count != slice.size()) {
      continue;
    }
    decoded.message.CopyTo(slice);
    link.meta = {.term = header.term,
                 .version = header.version,
                 .steps = weights->steps,
                 .entropy = weights->entropy};
    link.ask_again_ms = 0;
  }
  // 2. Request newer ones if they are too old.
  if (link.meta.term == where_.header.term && link.meta.version >= version) return true;
  Ask(link, version);
  return false;
}

void ShardLinks::Ask(Link& link, std::uint64_t version) {
  if (clock_.NowMs() < link.ask_again_ms || !Send(link, wire::Fetch{version}, 0)) return;
  link.ask_again_ms = clock_.NowMs() + where_.fetch_again_ms;
}

void ShardLinks::Prefetch(std::uint64_t version) {
  for (Link& link : links_) {
    const bool held = link.meta.term == where_.header.term && link.meta.version >= version;
    if (!link.reader && !held) Ask(link, version);
  }
}

bool ShardLinks::Send(Link& link, const wire::Body& body, std::uint64_t version,
                      const wire::SharedTensor& tensor) {
  wire::Header header = where_.header;
  header.sequence = ++link.sent;
  header.version = version;
  return link.socket->Send(wire::Encode(header, body, tensor));
}

std::string ShardLinks::Behind(std::uint64_t version) const {
  std::string behind;
  for (const Link& link : links_) {
    if (link.meta.term == where_.header.term && link.meta.version >= version) continue;
    behind += (behind.empty() ? "" : ", ") + link.endpoint;
  }
  return behind;
}

std::vector<wire::PollItem> ShardLinks::items(bool want_writable) const {
  std::vector<wire::PollItem> items;
  for (const Link& link : links_) {
    items.push_back({.socket = link.socket.get(), .want_writable = want_writable});
  }
  return items;
}

}  // namespace starling::actors
