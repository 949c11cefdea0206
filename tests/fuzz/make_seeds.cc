// make_seeds CORPUS: writes the seeds of the fuzzers of binary formats, each kind of message,
// record and tensor once, by the writers that the programs use. Corpora of text are written by
// hand.
#include <fmt/format.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/safetensors.h"
#include "envs/plugin.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/journal_writer.h"
#include "wire/codec.h"

namespace {

using namespace starling;

template <class T>
std::string Bytes(T value) {
  return std::string(std::bit_cast<std::array<char, sizeof value>>(value).data(), sizeof value);
}

std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// One message of each kind, with every field set.
void MakeMessages(const std::filesystem::path& corpus) {
  const std::vector<wire::Body> bodies = {
      wire::Hello{.slot = 3, .host = "node", .pid = 77, .fresh = 1},
      wire::Welcome{.config = "[run]\n",
                    .snapshot = "/dev/shm/x",
                    .beacon = "ipc:///run/b",
                    .life = 65'536,
                    .state = 7},
      wire::Gradient{.grant = 1, .samples = 160, .norm = 0.5, .episodes = {{3, 1000}, {-1.5, 7}}},
      wire::Gradient{.grant = 70'000, .buffer = 2, .samples = 1, .norm = 1e10},
      wire::Answer{.outcomes = {{1, wire::Outcome::kStale, 3}, {2, wire::Outcome::kApplied, 0}},
                   .grants = {{70'000, 1'000'000, 3, 0}, {70'001, 1'000'001, 0, 1}},
                   .cut = 1'000'000},
      wire::Heartbeat{},
      wire::Fetch{.version = 1ull << 40},
      wire::Weights{.steps = 1'000, .entropy = 0.03},
      wire::Leave{.reason = wire::LeaveReason::kRefused, .text = "another net"},
      wire::GradientSlice{.gradient = 9},
      wire::ShardHello{.shard = 2, .pid = 78},
      wire::ShardWelcome{.checkpoint = "checkpoints/t0001", .endpoint = "tcp://*:1"},
      wire::ShardReady{{.endpoint = "ipc:///run/c-1", .snapshot = "/dev/shm/y"}},
      wire::SliceHeld{.gradient = 9, .norm = 0.25, .key = "z85"},
      wire::DiscardSlice{.gradient = 9},
      wire::ApplyUpdate{.items = {{1, 2, 9, 0.5}, {2, 2, 8, 0.5}}, .lr = 0.01, .optimizer_step = 3},
      wire::ShardApplied{},
      wire::ShardSaved{.error = "no space"},
      wire::ReloadKeys{},
      wire::FetchState{.offset = 3},
      wire::State{.offset = 3, .total = 7, .bytes = std::string("\0\xff x", 4)},
      wire::Acted{.grant = 70'000, .weights = 1}};
  const std::vector<float> tensor = {1, -2.5f, 0, 4};
  const wire::Header head{
      .slot = 1, .incarnation = 2, .sequence = 3, .term = 4, .session = 6, .version = 5};
  const auto write = [&corpus](const std::string& name, const wire::Frames& frames) {
    const std::string header = Text(frames.header_bytes());
    Write(corpus / "frame_header" / name,
          Bytes(std::uint8_t{3}) + Bytes(static_cast<std::uint8_t>(header.size())) + header +
              Bytes(static_cast<std::uint16_t>(frames.fields.size())) + frames.fields +
              Text(frames.tensor));
  };
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const wire::Frames frames = wire::Encode(
        head, bodies[i], std::span(tensor).first(HasTensor(bodies[i]) ? tensor.size() : 0));
    const std::string name = fmt::format("{:02}_{}", i, KindName(KindOf(bodies[i])));
    write(name, frames);
    Write(corpus / "fields" / name,
          Bytes(static_cast<std::uint8_t>(bodies[i].index())) + frames.fields);
  }
  const std::shared_ptr<float[]> values = std::make_shared<float[]>(tensor.size());
  std::ranges::copy(tensor, values.get());
  write("bf16_slice",
        wire::Encode(head, wire::GradientSlice{.gradient = 9},
                     wire::SharedTensor(values, tensor.size(), wire::ElementType::kBf16)));
}

void MakeSafetensors(const std::filesystem::path& corpus) {
  const std::vector<float> f32 = {1, 2, 3, 4, 5, 6};
  const std::vector<double> f64 = {0.5};
  const std::vector<std::uint64_t> u64 = {7, ~0ull};
  const std::vector<std::uint8_t> u8 = {1, 2, 3};
  const std::vector<TensorView> tensors = {
      ViewF32("weights", {2, 3}, f32),
      {"lr", DType::kF64, {}, std::as_bytes(std::span(f64))},
      {"counters", DType::kU64, {2}, std::as_bytes(std::span(u64))},
      {"none", DType::kI64, {0, 5}, {}},
      {"rest", DType::kU8, {3}, std::as_bytes(std::span(u8))}};
  std::filesystem::create_directories(corpus / "safetensors");
  WriteSafetensors(corpus / "safetensors" / "ours", tensors, {{"version", "900"}, {"", "\u00e9"}});
  WriteSafetensors(corpus / "safetensors" / "ours_empty", {});
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":[1,"x"]},"__metadata__":{}})";
  Write(corpus / "safetensors" / "of_others",
        Bytes(std::uint64_t{header.size()}) + header + "1234");
}

// One record of each kind.
void MakeJournal(const std::filesystem::path& corpus) {
  using namespace learner;
  const std::filesystem::path path = corpus / "journal" / "whole";
  std::filesystem::create_directories(path.parent_path());
  {
    JournalWriter writer(corpus / "journal.tmp",
                         {.seed = 7, .fingerprint = 0x1234567890abcdef, .term = 1});
    for (const JournalRecord& record : std::vector<JournalRecord>{
             TermRecord{.term = 1, .version = 0, .steps = 0}, EntropyRecord{.entropy = 0.03},
             JoinRecord{.slot = 0, .incarnation = 1}, GrantRecord{.slot = 0, .number = 1},
             ArrivalRecord{.slot = 0, .sequence = 3, .grant = 1, .samples = 160, .norm = 0.5},
             UpdateRecord{.version = 1,
             .steps = 160,
             .lr = 1e-3,
             .scale = 1,
             .items = {{0, 1, 3}, {1, 1, 2}}},
             LostRecord{.slot = 0, .grant = 2, .why = LostWhy::kDeadline},
             LifeRecord{.slot = 1, .incarnation = 2, .life = 1, .restored = 1},
             DeathRecord{.slot = 0, .incarnation = 1}, HashRecord{.version = 1, .hash = 9},
             GapRecord{}}) {
      writer.Append(record);
    }
  }
  const std::string whole = ReadFile(corpus / "journal.tmp" / SegmentName(1, 0));
  std::filesystem::remove_all(corpus / "journal.tmp");
  Write(path, Bytes(static_cast<std::uint16_t>(whole.size())) + whole);
  Write(corpus / "journal" / "torn", Bytes(std::uint16_t{100}) + whole.substr(0, whole.size() - 5));
}

void MakePlugins(const std::filesystem::path& corpus) {
  const auto make = [&](const char* file, std::int32_t height, std::int32_t actions,
                        std::uint8_t null_bits, const std::string& names) {
    Write(corpus / "plugin_spec" / file,
          Bytes(std::uint32_t{STARLING_ENV_ABI}) +
              Bytes(static_cast<std::uint32_t>(sizeof(starling_env_v1))) + Bytes(height) +
              Bytes(std::int32_t{10}) + Bytes(std::int32_t{4}) + Bytes(0.0f) + Bytes(1.0f) +
              Bytes(actions) + Bytes(null_bits) + Bytes(std::uint8_t{0}) + names);
  };
  using namespace std::string_literals;
  make("good", 10, 3, 0, "glider\0stay\0left\0right"s);
  make("without_lives", 1, 1, 96, "gr\u00fcn\0nichts"s);
  make("no_step", 1, 1, 8, "a\0b"s);
  make("too_large", 1 << 30, 1, 0, "a\0b"s);
  make("no_utf_8", 1, 2, 0, "a\0\xff\xc0\0b"s);
  make("endless_name", 1, 1, 0, std::string(70, 'a') + "\0b"s);
  make("many_actions", 1, 65'536, 0, "a\0b"s);
  // Of version 2: two entries, then two choices or a box of two coordinates.
  for (const int kind : {STARLING_CHOICES, STARLING_BOX}) {
    const bool box = kind == STARLING_BOX;
    std::string table = Bytes(std::uint32_t{2}) +
                        Bytes(static_cast<std::uint32_t>(sizeof(starling_env_v2))) +
                        Bytes(std::int32_t{3}) + Bytes(std::int32_t{4}) + Bytes(std::int32_t{2}) +
                        Bytes(0.0f) + Bytes(1.0f) + Bytes(std::int32_t{2}) + Bytes(std::uint8_t{0});
    table += Bytes(static_cast<std::uint8_t>(128 | (box ? 4 | 32 : 8 | 16)));  // null pointers
    table +=
        Bytes(std::int32_t{2}) + Bytes(std::int16_t{5}) + Bytes(static_cast<std::uint8_t>(kind));
    for (int k = 0; k < 2; ++k) table += Bytes(std::int32_t{3}) + Bytes(-1.0f) + Bytes(1.0f);
    Write(corpus / "plugin_spec" / (box ? "second_box" : "second_masked"),
          table + "robot\0camera\0joints"s);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: make_seeds tests/fuzz/corpus\n");
    return 2;
  }
  MakeMessages(argv[1]);
  MakeSafetensors(argv[1]);
  MakeJournal(argv[1]);
  MakePlugins(argv[1]);
}
