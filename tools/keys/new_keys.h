// `starling keys new`: writes a key pair into two files.
#pragma once

#include <filesystem>
#include <string>

namespace starling::keys {

struct NewKeysOptions {
  std::string name;
  std::filesystem::path dir = "keys";
};

// Prints the use of both files. Returns the exit status. Throws UserError as wire::WriteKeyFiles.
int RunNewKeys(const NewKeysOptions& options);

}  // namespace starling::keys
