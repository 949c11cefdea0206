#include "wire/key_authenticator.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "wire/keys.h"
#include "wire/socket_impl.h"

namespace starling::wire {
namespace {

constexpr int kMaxQuestions = 256;  // answered in one call

// A request of libzmq. Its frames: version, request, domain, address, identity, mechanism,
// credentials.
struct Question {
  std::string version, request, address, mechanism, key;  // key: Z85, "" if there is none

  static bool Receive(zmq::socket_t& socket, Question& out) {
    std::array<std::string, 7> frames;
    zmq::message_t frame;
    std::size_t count = 0;
    do {
      if (!ReceiveFrame(socket, frame)) return false;
      if (count < frames.size()) frames[count++] = frame.to_string();
    } while (frame.more());
    out = {frames[0], frames[1], frames[3], frames[5], ""};
    if (out.mechanism == "CURVE" && frames[6].size() == kKeyBytes) {
      std::array<char, kKeyText + 1> text{};
      zmq_z85_encode(text.data(), reinterpret_cast<const std::uint8_t*>(frames[6].data()),
                     kKeyBytes);
      out.key = text.data();
    }
    return true;
  }
};

// The key is the user id of the reply: libzmq attaches it to every message of the connection.
void Reply(zmq::socket_t& socket, const Question& question, bool admitted) {
  const std::array<std::string, 6> frames = {"1.0",
                                             question.request,
                                             admitted ? "200" : "400",
                                             admitted ? "OK" : "not on the list",
                                             admitted ? question.key : "",
                                             ""};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    zmq::message_t frame(frames[i].data(), frames[i].size());
    SendFrame(socket, frame, i + 1 < frames.size());
  }
}

}  // namespace

KeyAuthenticator::KeyAuthenticator(Context& context, std::filesystem::path allowed)
    : allowed_(std::move(allowed)), list_(Allowlist::Read(allowed_)) {
  impl_->socket = OpenSocket(context, zmq::socket_type::rep);
  impl_->socket.set(zmq::sockopt::linger, 0);
  impl_->socket.bind("inproc://zeromq.zap.01");
}
KeyAuthenticator::~KeyAuthenticator() = default;

void KeyAuthenticator::Admit(const std::string& public_key, const std::string& name) {
  admitted_[public_key] = name;
}

std::vector<std::string> KeyAuthenticator::Reload() {
  try {
    list_ = Allowlist::Read(allowed_);
  } catch (const UserError& error) {
    list_ = {};
    list_.problems.emplace_back(error.what());
  }
  std::vector<std::string> lines = {
      fmt::format("{} keys on the list of {}", list_.names.size(), allowed_.string())};
  lines.insert(lines.end(), list_.problems.begin(), list_.problems.end());
  return lines;
}

const std::string* KeyAuthenticator::NameOf(const std::string& public_key) const {
  for (const auto* names : {&admitted_, &list_.names}) {
    if (const auto found = names->find(public_key); found != names->end()) return &found->second;
  }
  return nullptr;
}

std::vector<std::string> KeyAuthenticator::Answer() {
  std::vector<std::string> rejected;
  Question question;
  for (int i = 0; i < kMaxQuestions && Question::Receive(impl_->socket, question); ++i) {
    const bool admitted =
        question.version == "1.0" && !question.key.empty() && NameOf(question.key) != nullptr;
    Reply(impl_->socket, question, admitted);
    if (admitted) continue;
    rejected.push_back(question.key.empty() ? fmt::format("{} has no key", question.address)
                                            : fmt::format("the key {} of {} is not on the list",
                                                          question.key, question.address));
  }
  return rejected;
}

}  // namespace starling::wire
