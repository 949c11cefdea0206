#include "bench/proxy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>  // before Asio's coroutines, which need it

#include <boost/asio.hpp>
#include <deque>
#include <list>
#include <thread>
#include <vector>

namespace starling::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunk = 16 * 1024;  // bytes read at once
// Bytes held in a direction, like the window of a connection: beyond, it is not read. A delayed
// direction holds all bytes of the delay, so its window is larger.
constexpr std::size_t kUnderWay = 64 * 1024, kUnderWayDelayed = 4 * 1024 * 1024;

struct Traffic {
  std::array<std::atomic<std::uint64_t>, 2> forwarded{};
  std::atomic<std::uint64_t> corrupted{0};
  std::atomic<std::size_t> connections{0};
};

// A connection, and the one to the server that belongs to it. Its pumps keep it alive while they
// run.
class Pair : public std::enable_shared_from_this<Pair> {
 public:
  Pair(asio::io_context& context, tcp::socket client, const std::array<Way, 2>& ways,
       Traffic& counts)
      : counts_(counts),
        ways_(ways),
        ends_{std::move(client), tcp::socket(context)},
        lines_{Line(context), Line(context)} {}

  void Start(std::uint16_t server_port) {
    ends_[1].async_connect({asio::ip::address_v4::loopback(), server_port},
                           [self = shared_from_this()](error_code error) {
                             if (error) return self->Close();
                             for (std::size_t from : {0, 1}) {
                               self->ends_[from].set_option(tcp::no_delay(true));
                               self->Read(from);
                             }
                           });
  }

  void Close() {
    if (!std::exchange(open_, false)) return;
    error_code ignored;
    for (tcp::socket& end : ends_) end.close(ignored);
    for (Line& line : lines_) line.timer.cancel();
  }
  bool open() const { return open_; }

  // Whatever waited because of how it was before.
  void WaysChanged() {
    for (std::size_t from : {0, 1}) {
      if (!open_ || !ends_[1].is_open()) return;
      if (lines_[from].started) Read(from), Write(from);
    }
  }

 private:
  struct Piece {
    std::vector<char> bytes;
    Clock::time_point due;
  };
  // From end `from` to the other one.
  struct Line {
    explicit Line(asio::io_context& context) : timer(context) {}
    std::array<char, kChunk> room{};
    std::deque<Piece> pieces;
    asio::steady_timer timer;
    Clock::time_point free{};  // when the throttled line has sent its bytes
    std::size_t held = 0;
    std::uint64_t read = 0;
    bool started = false, reading = false, waiting = false, writing = false;
    bool ended = false;  // the end of input; bytes under way still arrive
  };

  void End(std::size_t from) {
    lines_[from].ended = true;
    if (lines_[from].pieces.empty()) Close();
  }

  void Read(std::size_t from) {
    Line& line = lines_[from];
    line.started = true;
    const std::size_t window = ways_[from].delay.count() > 0 ? kUnderWayDelayed : kUnderWay;
    if (!open_ || line.ended || line.reading || ways_[from].stalled || line.held >= window) return;
    line.reading = true;
    const std::size_t rate = ways_[from].bytes_per_s;
    const std::size_t most = rate == 0 ? kChunk : std::clamp<std::size_t>(rate / 50, 1, kChunk);
    ends_[from].async_read_some(
        asio::buffer(line.room.data(), most),
        [self = shared_from_this(), from](error_code error, std::size_t size) {
          self->lines_[from].reading = false;
          if (error) return self->End(from);
          self->Take(from, size);
          self->Read(from);
          self->Write(from);
        });
  }

  // Queues `size` bytes that were read from end `from`, corrupted and delayed as its way demands.
  void Take(std::size_t from, std::size_t size) {
    Line& line = lines_[from];
    const Way& way = ways_[from];
    Piece piece{{line.room.begin(), line.room.begin() + static_cast<std::ptrdiff_t>(size)},
                Clock::now() + way.delay};
    for (std::size_t i = 0; i < size && way.corrupt_every > 0; ++i) {
      const std::uint64_t at = line.read + i;
      if (at < way.corrupt_from || (at - way.corrupt_from) % way.corrupt_every != 0) continue;
      piece.bytes[i] = static_cast<char>(piece.bytes[i] ^ 0x10);
      ++counts_.corrupted;
    }
    if (way.bytes_per_s > 0) {
      line.free = std::max(line.free, Clock::now()) +
                  std::chrono::microseconds(1'000'000 * size / way.bytes_per_s);
      piece.due = line.free + way.delay;
    }
    line.read += size;
    line.held += size;
    line.pieces.push_back(std::move(piece));
  }

  void Write(std::size_t from) {
    Line& line = lines_[from];
    if (!open_ || line.writing || line.waiting || line.pieces.empty() || ways_[from].stalled) {
      return;
    }
    if (line.pieces.front().due > Clock::now()) {
      line.waiting = true;
      line.timer.expires_at(line.pieces.front().due);
      line.timer.async_wait([self = shared_from_this(), from](error_code) {
        self->lines_[from].waiting = false;
        self->Write(from);
      });
      return;
    }
    line.writing = true;
    asio::async_write(ends_[1 - from], asio::buffer(line.pieces.front().bytes),
                      [self = shared_from_this(), from](error_code error, std::size_t size) {
                        Line& sent = self->lines_[from];
                        sent.writing = false;
                        if (error) {  // the receiver is gone; reading from there ends, too
                          sent.pieces.clear();
                          return;
                        }
                        self->counts_.forwarded[from] += size;
                        sent.held -= size;
                        sent.pieces.pop_front();
                        if (sent.ended && sent.pieces.empty()) return self->Close();
                        self->Read(from);
                        self->Write(from);
                      });
  }

  Traffic& counts_;
  const std::array<Way, 2>& ways_;
  std::array<tcp::socket, 2> ends_;
  std::array<Line, 2> lines_;
  bool open_ = true;
};

}  // namespace

struct Proxy::Impl {
  explicit Impl(std::uint16_t port) : server_port(port) { Accept(); }

  void Accept() {
    acceptor.async_accept([this](error_code error, tcp::socket client) {
      if (error) return;
      std::erase_if(pairs, [](const auto& pair) { return !pair->open(); });
      if (!cut) {  // else it is closed here
        ++counts.connections;
        pairs.push_back(std::make_shared<Pair>(context, std::move(client), ways, counts));
        pairs.back()->Start(server_port);
      }
      Accept();
    });
  }

  const std::uint16_t server_port;
  Traffic counts;
  // The rest belongs to the thread.
  std::array<Way, 2> ways;
  bool cut = false;
  asio::io_context context;
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  std::list<std::shared_ptr<Pair>> pairs;
  std::thread thread;
};

Proxy::Proxy(std::uint16_t server_port) : impl_(std::make_unique<Impl>(server_port)) {
  impl_->thread = std::thread([this] { impl_->context.run(); });
}

Proxy::~Proxy() {
  impl_->context.stop();
  impl_->thread.join();
  for (const auto& pair : impl_->pairs) pair->Close();
}

std::uint16_t Proxy::port() const { return impl_->acceptor.local_endpoint().port(); }

void Proxy::Set(Direction direction, Way way) {
  asio::post(impl_->context, [this, direction, way] {
    impl_->ways[static_cast<std::size_t>(direction)] = way;
    for (const auto& pair : impl_->pairs) pair->WaysChanged();
  });
}

void Proxy::SetBoth(const Way& way) {
  Set(Direction::kToServer, way);
  Set(Direction::kToClient, way);
}

void Proxy::Cut() {
  asio::post(impl_->context, [this] {
    impl_->cut = true;
    for (const auto& pair : impl_->pairs) pair->Close();
    impl_->pairs.clear();
  });
}

void Proxy::Restore() {
  asio::post(impl_->context, [this] { impl_->cut = false; });
}

std::size_t Proxy::connections() const { return impl_->counts.connections; }

std::uint64_t Proxy::forwarded(Direction direction) const {
  return impl_->counts.forwarded[static_cast<std::size_t>(direction)];
}

std::uint64_t Proxy::corrupted() const { return impl_->counts.corrupted; }

}  // namespace starling::bench
