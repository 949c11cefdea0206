// CURVE keys (CurveZMQ, RFC 26) in files, and the list of allowed keys.
//
// A key is 32 bytes, written as 40 characters of Z85. NAME.public contains the public key on one
// line and may be given to anyone. NAME.secret contains the public and the secret key, a line each,
// and is refused if users other than its owner can read it. Lines that begin with # are comments.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace starling::wire {

inline constexpr std::size_t kKeyBytes = 32, kKeyText = 40;

struct KeyPair {
  std::string public_key, secret_key;  // Z85, 40 characters each

  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

KeyPair NewKeyPair();

// A client's own keys and the key of its server.
struct Credentials {
  KeyPair own;
  std::string server_key;  // Z85

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

struct KeyFiles {
  std::filesystem::path public_file, secret_file;
};
// Creates DIR/NAME.public and DIR/NAME.secret (mode 0600), and DIR if it does not exist. Throws
// UserError if NAME is no plain file name, if a file exists already, or if one cannot be written.
KeyFiles WriteKeyFiles(const std::filesystem::path& dir, const std::string& name,
                       const KeyPair& keys);

// Throws UserError naming the file if it is missing, readable by other users, or contains no key or
// two keys of different pairs.
KeyPair ReadSecretFile(const std::filesystem::path& file);
// Reads a NAME.public. Throws UserError naming the file if it is anything else.
std::string ReadPublicFile(const std::filesystem::path& file);

// The allowed keys: those in the files DIR/*.public, with the names of the files.
struct Allowlist {
  std::map<std::string, std::string> names;  // by public key
  std::vector<std::string> problems;         // a sentence for each file that is ignored

  // Ignores files that cannot be read or that any user can write. Throws UserError if this is true
  // of the directory.
  static Allowlist Read(const std::filesystem::path& dir);
};

}  // namespace starling::wire
