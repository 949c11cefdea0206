// CURVE keys (CurveZMQ, RFC 26) in files, and the list of those who may come in.
//
// A key is 32 bytes, written as 40 characters of Z85. NAME.public holds one line with the public key and
// may be handed to anybody; NAME.secret holds the public and the secret key, a line each, and is refused
// if anybody but its owner can read it. Lines that begin with # are comments.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace starling::wire {

struct KeyPair {
  std::string public_key, secret_key;  // Z85, 40 characters each

  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

KeyPair NewKeyPair();

// What a client shows and whom it expects.
struct Credentials {
  KeyPair own;
  std::string server_key;  // Z85

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

struct KeyFiles {
  std::filesystem::path public_file, secret_file;
};
// Makes DIR/NAME.public and DIR/NAME.secret (0600), the directory too if it is not there. Throws UserError
// if NAME is no plain file name, if either file is there already, or if they cannot be written.
KeyFiles WriteKeyFiles(const std::filesystem::path& dir, const std::string& name,
                       const KeyPair& keys);

// Throws UserError naming the file: not there, readable by others, no key in it, halves that do not belong
// together.
KeyPair ReadSecretFile(const std::filesystem::path& file);
// Of NAME.public, and of nothing else. Throws UserError naming the file.
std::string ReadPublicFile(const std::filesystem::path& file);

// Who may come in: the names of the files DIR/*.public by the key in them.
struct Allowlist {
  std::map<std::string, std::string> names;  // by public key
  std::vector<std::string> troubles;         // a sentence for each file that admits nobody

  // Closed where in doubt: a file that cannot be read admits nobody. Throws UserError if it is the directory
  // that cannot be read.
  static Allowlist Read(const std::filesystem::path& dir);
};

}  // namespace starling::wire
