#include "core/metrics.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

namespace starling {

MetricsFile::MetricsFile(const std::filesystem::path& path)
    : file_(std::fopen(path.c_str(), "a+be")) {
  if (!file_) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
  }
  // Unbuffered: a line is one write, and a failed write leaves nothing in a buffer to write twice.
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);
  if (std::fseek(file_.get(), -1, SEEK_END) == 0) torn_ = std::fgetc(file_.get()) != '\n';
  std::fseek(file_.get(), 0, SEEK_END);
}

bool MetricsFile::Write(const nlohmann::ordered_json& line) {
  std::string text = torn_ ? "\n" : "";
  text += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text += '\n';
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), file_.get());
  if (written == text.size()) {
    torn_ = false;
    return true;
  }
  torn_ = torn_ || written > 0;
  std::clearerr(file_.get());
  return false;
}

}  // namespace starling
