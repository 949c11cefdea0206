#include "fleet/check_config.h"

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "envs/registry.h"
#include "fleet/blueprint.h"
#include "wire/runtime_dir.h"
#include "wire/socket.h"

namespace starling::fleet {
namespace {

// Collects the mistakes that checks find, each with the place where its key was set.
class Mistakes {
 public:
  explicit Mistakes(const ConfigSource& source) : source_(source) {}

  template <class Check>
  bool Find(const char* key, Check check) {
    try {
      check();
      return true;
    } catch (const UserError& error) {
      const std::string where = source_.Where(key);
      text_ += fmt::format("{}{}{}: {}", text_.empty() ? "" : "\n",
                           where.empty() ? "" : where + ": ", key, error.what());
      return false;
    }
  }
  void Throw() const {
    if (!text_.empty()) throw UserError(text_);
  }

 private:
  const ConfigSource& source_;
  std::string text_;
};

}  // namespace

void CheckConfig(const Config& config, const ConfigSource& source) {
  Mistakes mistakes(source);
  if (mistakes.Find("env.name", [&] { envs::SpecOf(config.env); })) {
    mistakes.Find("net.kind", [&] { BlueprintOf(config); });
  }
  mistakes.Find("wire.endpoint", [&] {
    if (config.wire.endpoint != "auto") wire::CheckEndpoint(config.wire.endpoint);
  });
  mistakes.Find("wire.runtime_dir", [&] { wire::RuntimeRoot(config.wire.runtime_dir); });
  mistakes.Throw();
}

}  // namespace starling::fleet
