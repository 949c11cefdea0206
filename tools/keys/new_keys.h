// `starling keys new`: a pair of keys, in two files.
#pragma once

#include <filesystem>
#include <string>

namespace starling::keys {

struct NewKeysOptions {
  std::string name;
  std::filesystem::path dir = "keys";
};

// Says what goes where; the exit status. Throws UserError as wire::WriteKeyFiles.
int RunNewKeys(const NewKeysOptions& options);

}  // namespace starling::keys
