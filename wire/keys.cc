#include "wire/keys.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <system_error>

#include "core/check.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"

namespace starling::wire {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = 64 * 1024;

bool IsKey(const std::string& text) {
  std::array<std::uint8_t, kKeyBytes> bytes;
  return text.size() == kKeyText && zmq_z85_decode(bytes.data(), text.c_str()) != nullptr;
}

[[noreturn]] void Fail(const fs::path& file, const std::string& what) {
  throw UserError(fmt::format("{}: {}", file.string(), what));
}

// Returns the lines that are no comments, without surrounding blanks.
std::vector<std::string> Lines(const fs::path& file) {
  std::string text;
  try {
    if (fs::file_size(file) > kLargestFile) Fail(file, "too large for a key");
    text = ReadRegularFile(file);
  } catch (const std::system_error& error) {
    Fail(file, fmt::format("cannot be read ({})", error.code().message()));
  }
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    lines.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
  }
  return lines;
}

// Whether root has given it to a group of this user: so Kubernetes hands secrets to a pod.
bool IsLentByRoot(const struct stat& status) {
  if (status.st_uid != 0 || ::geteuid() == 0) return false;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int known = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(known, 0)));
  return status.st_gid == ::getegid() || std::ranges::count(groups, status.st_gid) > 0;
}

void CheckPrivate(const fs::path& file) {
  struct stat status {};
  // Reading it will report a missing file.
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if ((status.st_mode & (IsLentByRoot(status) ? 037 : 077)) != 0) {
    Fail(file,
         fmt::format("users other than its owner can read this secret key (mode {:04o}); if none "
                     "has, chmod 600 it, else make a new one with starling keys new",
                     status.st_mode & 07777));
  }
}

// Refuses a list that every user of this machine can change.
void CheckGuarded(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || (status.st_mode & S_IWOTH) == 0) return;
  Fail(path, "every user can write to it, so its keys cannot be trusted; chmod o-w it");
}

bool IsPlainName(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.size() <= 64 && IsPlainWord(name);
}

}  // namespace

KeyPair NewKeyPair() {
  std::array<char, kKeyText + 1> open{}, secret{};
  CHECK(zmq_curve_keypair(open.data(), secret.data()) == 0, "{}", zmq_strerror(zmq_errno()));
  return {open.data(), secret.data()};
}

KeyFiles WriteKeyFiles(const fs::path& dir, const std::string& name, const KeyPair& keys) {
  if (!IsPlainName(name)) {
    throw UserError(fmt::format(
        "\"{}\" cannot name a key: letters, digits, - _ and . are allowed, at most 64 of them",
        name));
  }
  const KeyFiles files{dir / (name + ".public"), dir / (name + ".secret")};
  for (const fs::path& file : {files.public_file, files.secret_file}) {
    if (fs::exists(fs::symlink_status(file))) {
      Fail(file, "is there already; a key is never replaced");
    }
  }
  try {
    // The secret file first: a public key without its secret one would be of no use.
    fs::create_directories(dir);
    WriteFileAtomically(
        files.secret_file,
        fmt::format("# {}: the public key, then the secret key. Keep this file secret.\n"
                    "{}\n{}\n",
                    name, keys.public_key, keys.secret_key),
        0600);
    WriteFileAtomically(files.public_file, fmt::format("# {}\n{}\n", name, keys.public_key));
  } catch (const std::system_error& error) {
    throw UserError(fmt::format("the keys of {} cannot be written: {}", name, error.what()));
  }
  return files;
}

KeyPair ReadSecretFile(const fs::path& file) {
  CheckPrivate(file);
  const std::vector<std::string> lines = Lines(file);
  if (lines.size() != 2 || !IsKey(lines[0]) || !IsKey(lines[1])) {
    Fail(file,
         "is no secret key: it has a line with the public key and one with the secret key, as "
         "starling keys new writes them");
  }
  std::array<char, kKeyText + 1> open{};
  if (zmq_curve_public(open.data(), lines[1].c_str()) != 0 || lines[0] != open.data()) {
    Fail(file, "its two keys do not belong together");
  }
  return {lines[0], lines[1]};
}

std::string ReadPublicFile(const fs::path& file) {
  const std::vector<std::string> lines = Lines(file);
  if (lines.size() == 2) {
    Fail(file, "has two keys; a NAME.public has one, and a NAME.secret is for its owner only");
  }
  if (lines.size() != 1 || !IsKey(lines[0])) {
    Fail(file,
         "is no public key: it has one line of 40 characters, as starling keys new writes it");
  }
  return lines[0];
}

Allowlist Allowlist::Read(const fs::path& dir) {
  Allowlist list;
  std::vector<fs::path> files;
  CheckGuarded(dir);
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
      if (entry.path().extension() == ".public") files.push_back(entry.path());
    }
  } catch (const std::system_error& error) {
    Fail(dir,
         fmt::format("the list of allowed keys cannot be read ({}); make the directory and put "
                     "their NAME.public there",
                     error.code().message()));
  }
  // In order, so that of two files with one key the same one is always ignored.
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    try {
      CheckGuarded(file);
      const auto [entry, is_new] = list.names.emplace(ReadPublicFile(file), file.stem().string());
      if (!is_new) Fail(file, fmt::format("the key of {}, again", entry->second));
    } catch (const UserError& error) {
      list.problems.emplace_back(error.what());
    }
  }
  return list;
}

}  // namespace starling::wire
