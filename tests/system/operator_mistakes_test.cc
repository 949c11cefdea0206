// The mistakes of an operator: exit status 2, a sentence with the mistake, its place and a remedy,
// and nothing started or created.
#include <set>

#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Mistake {
  std::string name;
  std::string file;  // content of mine.toml; "": the shipped configuration
  Strings settings;
  Strings sentences;  // each is a part of the output
  Strings environment{};
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

class MistakeTest : public RunTest, public testing::WithParamInterface<Mistake> {
 protected:
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (!entry.path().filename().string().starts_with("starling")) {
        names.insert(entry.path().filename());
      }
    }
    return names;
  }
};

TEST_P(MistakeTest, IsAnsweredBeforeAnythingStarts) {
  const Mistake& mistake = GetParam();
  const std::filesystem::path mine = dir_ / "mine.toml";
  if (!mistake.file.empty()) std::ofstream(mine) << mistake.file;
  const auto before = Files();
  // The directory it would go to is the default: runs/ must not appear.
  Strings words = {"train", mistake.file.empty() ? config_ : mine.string(), "--set",
                   "wire.runtime_dir=" + runtime().string()};
  for (const std::string& setting : mistake.settings) {
    words.insert(words.end(), {"--set", setting});
  }
  auto train = Start("starling", words, {}, mistake.environment);
  EXPECT_EQ(WaitFor(*train), 2) << said_;
  EXPECT_EQ(train->out(), "");
  for (const std::string& sentence : mistake.sentences) EXPECT_THAT(said_, HasSubstr(sentence));
  EXPECT_EQ(Files(), before);
  ExpectNothingLeft();
}

// One of each kind of answer; the sentence of every rule is in tests/core/config.
const Mistake kMistakes[] = {
    {"Syntax", "[run]\nsteps = = 3\n", {}, {"mine.toml:2:9: "}},
    {"UnknownEnv",
     "[env]\nname = \"minatar/brekout\"\n",
     {},
     {"mine.toml:2:8: ", "minatar/brekout", "did you mean \"minatar/breakout\"?"}},
    {"NoSuchEnvBySetting", "", {"env.name=cacth"}, {"--set env.name=cacth: ", "\"catch\"?"}},
    {"SeveralAtOnce",
     "[run]\nsteps = \"many\"\nsede = 3\n[loss]\ngamma = 1.5\n[updates]\nin_flight = 2\n"
     "[staleness]\nbound = 0\n[wire]\nendpoint = \"tcp://10.1.2.3:1\"\n",
     {"actors.cuont=1"},
     {"mine.toml:2:9: run.steps", "mine.toml:3:1: ", "did you mean \"seed\"?",
      "mine.toml:5:9: loss.gamma", "mine.toml:7:13: updates.in_flight",
      "mine.toml:11:12: ", "tcp://10.1.2.3:1", "loopback", "CURVE",
      "--set actors.cuont=1: unknown key actors.cuont", "did you mean \"count\"?"}},
    {"NoSuchLayer",
     "[net]\nlayers = [\"conv 16 3x3\", \"rleu\"]\n",
     {},
     {"mine.toml:2:10: net.layers: \"rleu\" is no layer", "\"lstm WIDTH\""}},
    {"LayerThatDoesNotFit",
     "",
     {"net.kind=layers", "net.layers=[\"linear 8\", \"conv 8 3x3\"]"},
     {"--set net.layers=", "\"conv 8 3x3\" convolves 3x3 cells, but gets a row of 8 numbers"}},
    {"SumsInBf16",
     "",
     {"env.normalize_rewards=true", "wire.gradient=bf16"},
     {"--set wire.gradient=bf16: ", "the running statistics", "use \"f32\""}},
    {"Tf32OnAProcessor", "", {"net.precision=tf32"}, {"--set net.precision=tf32: ", "only GPUs"}},
    {"GamesOnAGpuWithoutANetThere",
     "[actors]\nenv_device = \"cuda\"\n",
     {},
     {"mine.toml:2:14: actors.env_device = \"cuda\" contradicts actors.backend = \"cpu\""}},
    {"ShardsUnderHogwild",
     "",
     {"learner.shards=2", "learner.apply=hogwild"},
     {"learner.shards = 2 contradicts learner.apply"}},
    {"RuntimeDirIsAbsent",
     "",
     {"wire.runtime_dir=/nonexistent/place"},
     {"/nonexistent/place", "wire.runtime_dir"}},
    {"AnEndpointWhoseDirectoryIsAbsent",
     "",
     {"wire.endpoint=ipc:///nonexistent/socket"},
     {"--set wire.endpoint=", "directory /nonexistent: No such file or directory"}},
    {"AGpuThatIsNotThere",
     "",
     {"actors.backend=cuda"},
     {"--set actors.backend=cuda: actors.backend = \"cuda\": ", "CUDA"},
     {"CUDA_VISIBLE_DEVICES="}},  // hides all GPUs from the driver, if there is one
    {"Bf16OnAProcessorWithout",
     "",
     {"net.precision=bf16"},
     {"net.precision: this processor has no bf16 products", "use \"f32\""},
     {"ONEDNN_MAX_CPU_ISA=AVX2"}},  // makes oneDNN treat the processor as an older one
};

INSTANTIATE_TEST_SUITE_P(All, MistakeTest, testing::ValuesIn(kMistakes),
                         [](const auto& test) { return test.param.name; });

using PlaceTest = RunTest;

TEST_F(PlaceTest, ARunDirectoryInUseIsRefused) {
  std::filesystem::create_directory(run());
  std::ofstream(run() / "precious") << "mine";
  EXPECT_EQ(Train({}), 2);
  EXPECT_THAT(said_, HasSubstr(run().string() + " is not empty; choose another --run-dir"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run()), {}), 1);
  EXPECT_EQ(TextOf(run() / "precious"), "mine");
}

}  // namespace
}  // namespace starling
