// Measures the transport of a gradient, or of weights of the same size, from one thread to another
// in the ways of the programs, beside a memcpy of the same bytes.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <thread>

#include "bench/figure.h"
#include "bench/stats.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "results/initial_net.h"
#include "wire/codec.h"
#include "wire/snapshot.h"
#include "wire/socket.h"

namespace starling::bench {
namespace {

constexpr int kBlock = 16;  // pushes timed together
constexpr int kWindow = 2;  // unanswered pushes at most
constexpr std::int64_t kPollMs = 50;
constexpr std::int64_t kMaxSilenceMs = 20'000;

// The learner's end: receives, checks and answers gradients until `stop`.
void Serve(const std::stop_token& stop, wire::ServerSocket& socket, std::size_t floats) {
  std::array<wire::PollItem, 1> item{{{.socket = &socket}}};
  wire::Envelope envelope;
  while (!stop.stop_requested()) {
    wire::Poll(item, kPollMs);
    while (socket.Receive(envelope)) {
      const wire::DecodeResult decoded = wire::Decode(envelope.frames(), floats);
      if (!decoded) continue;  // the pusher times out
      socket.Send(envelope.peer(),
                  wire::Encode({}, wire::Answer{.outcomes = {{decoded.message.header.sequence}}}));
    }
  }
}

// The actor's end.
class WirePusher {
 public:
  // `floats` = 0: the gradient is in shared memory, so only the message is sent.
  WirePusher(wire::Context& context, const std::string& endpoint, std::size_t floats)
      : socket_(context, endpoint, {.max_elements = floats}),
        gradient_(floats, 0.5f),
        buffer_(floats == 0 ? 1 : 0) {}

  void PushBlock() {
    for (int i = 0; i < kBlock; ++i) {
      ++header_.sequence;
      const wire::Frames frames =
          wire::Encode(header_, wire::Gradient{.buffer = buffer_}, gradient_);
      Until(/*writable=*/true, [&] { return socket_.Send(frames); });
      if (++unanswered_ >= kWindow) Receive();
    }
    while (unanswered_ > 0) Receive();
  }

 private:
  void Receive() {
    Until(/*writable=*/false, [&] { return socket_.Receive(envelope_); });
    --unanswered_;
  }
  // Waits for the socket until `done`.
  template <class Done>
  void Until(bool writable, const Done& done) {
    std::array<wire::PollItem, 1> item{
        {{.socket = &socket_, .want_readable = !writable, .want_writable = writable}}};
    for (std::int64_t idle_ms = 0; !done();) {
      if (wire::Poll(item, kPollMs)) continue;
      idle_ms += kPollMs;
      if (idle_ms > kMaxSilenceMs) throw std::runtime_error("a gradient was not answered");
    }
  }

  wire::ClientSocket socket_;
  std::vector<float> gradient_;
  const std::uint32_t buffer_;
  wire::Header header_;
  wire::Envelope envelope_;
  int unanswered_ = 0;
};

double PushNs(const std::string& endpoint, std::size_t floats, double seconds) {
  wire::Context context, other;  // as of two processes
  wire::ServerSocket server(context, endpoint, {.max_elements = floats});
  const std::jthread thread([&](const std::stop_token& stop) { Serve(stop, server, floats); });
  WirePusher pusher(other, server.endpoint(), floats);
  return Median(TimeManyNs(seconds, [&] { pusher.PushBlock(); })) / kBlock;
}

// The time to copy a whole version out of shared memory that another thread has just written.
double SnapshotReadNs(std::size_t floats, double seconds) {
  wire::SnapshotWriter writer("", floats, 1, 1);
  wire::SnapshotReader reader(writer);
  std::atomic<std::uint64_t> asked{0};  // the version to write; 0: end
  const std::vector<float> from(floats, 0.5f);
  std::thread thread([&] {
    std::uint64_t done = 0;
    for (;;) {
      asked.wait(done);
      const std::uint64_t version = asked.load();
      if (version == 0) return;
      writer.Begin(version);
      writer.Write(version, 0, from);
      writer.Publish({.term = 1, .version = version});
      done = version;
    }
  });
  std::vector<float> to(floats);
  wire::SnapshotMeta meta;
  std::vector<double> times;
  double spent = 0;
  for (std::uint64_t version = 1; spent < seconds * 1e9 || times.size() < kMinRepeats; ++version) {
    const SteadyClock clock;
    const std::int64_t begin = clock.NowNs();
    asked = version;
    asked.notify_one();
    while (!(reader.Latest() >= version)) std::this_thread::yield();
    times.push_back(TimeNs([&] { reader.Read(version, to, meta); }));
    spent += static_cast<double>(clock.NowNs() - begin);
  }
  asked = 0;
  asked.notify_one();
  thread.join();
  return Median(times);
}

}  // namespace

Result MeasureWire(const Site& site) {
  const double seconds = site.quick ? 0.05 : 0.7;
  const std::size_t breakout = results::InitialNetOf(LoadConfig(site.config)).layout.size();
  const std::string ipc = "ipc://" + (site.scratch / "wire").string();
  Result result;
  for (const std::size_t floats : {breakout, std::size_t{1'000'000}}) {
    const double mb = static_cast<double>(floats) * 4 / 1e6;
    const struct {
      const char *key, *what;
      double ns;
    } ways[] = {
        {"snapshot", "read from shared memory", SnapshotReadNs(floats, seconds)},
        {"buffer", "pushed in shared memory, announced through ipc", PushNs(ipc, 0, seconds)},
        {"ipc", "pushed through ipc", PushNs(ipc, floats, seconds)},
        {"tcp", "through tcp on loopback", PushNs("tcp://127.0.0.1:*", floats, seconds)},
        {"memcpy", "memcpy", CopyNs(floats, seconds)}};
    // All ways of a size share a row.
    std::vector<std::string> measured;
    Json& entry = result.json[fmt::format("{:.2f}_MB", mb)];
    for (const auto& [key, what, ns] : ways) {
      const double gb_per_second = mb * 1e6 / ns;
      measured.push_back(fmt::format("{} {:.0f} µs ({:.1f} GB/s)", what, ns / 1e3, gb_per_second));
      entry[key] = {{"us", ns / 1e3}, {"gb_per_second", gb_per_second}};
    }
    result.rows.push_back({.what = fmt::format("{:.2f} MB from thread to thread", mb),
                           .measured = fmt::format("{}", fmt::join(measured, "; "))});
  }
  return result;
}

}  // namespace starling::bench
