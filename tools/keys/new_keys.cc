#include "tools/keys/new_keys.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/error.h"
#include "wire/keys.h"

namespace starling::keys {

int RunNewKeys(const NewKeysOptions& options) {
  const wire::KeyFiles files = wire::WriteKeyFiles(options.dir, options.name, wire::NewKeyPair());
  const std::string secret = files.secret_file.string(), open = files.public_file.string();
  fmt::print(
      "{}  the secret key: it stays on this machine\n"
      "{}  the public key: give it to the others\n"
      "A learner with it:  --set wire.endpoint=tcp://*:5555 --set wire.secret={} "
      "--set wire.allowed=DIR (with the .public files of its actors)\n"
      "An actor with it:   --connect tcp://LEARNER:5555 --secret {} --learner-key "
      "LEARNER.public (and {} in the learner's DIR)\n",
      secret, open, secret, secret, files.public_file.filename().string());
  return kExitDone;
}

}  // namespace starling::keys
