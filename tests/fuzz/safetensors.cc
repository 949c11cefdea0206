// A safetensors file (core/safetensors.h): as it is, then with a valid checksum, if it has one.
#include "core/safetensors.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <stdexcept>
#include <variant>

#include "core/check.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace starling;

// The beginning of the header of a file of ours, before 16 digits.
constexpr std::string_view kPrefix = R"({"__metadata__":{"starling.xxh64":")";
constexpr std::size_t kAtDigits = 8 + kPrefix.size(), kDigits = 16;

bool Sign(std::string& file) {
  if (file.size() < kAtDigits + kDigits || !file.substr(8).starts_with(kPrefix)) return false;
  file.replace(kAtDigits, kDigits, kDigits, '0');
  file.replace(kAtDigits, kDigits, fmt::format("{:016x}", XXH64(file.data(), file.size(), 0)));
  return true;
}

using Values = std::variant<std::vector<float>, std::vector<double>, std::vector<std::int64_t>,
                            std::vector<std::uint64_t>>;

// The numbers of a tensor of any type that can be asked for; of others none, and false.
bool ReadAny(const SafetensorsFile& file, const std::string& name, DType& dtype, Values& values) {
  const auto read = [&](DType is, auto member) {
    try {
      values = (file.*member)(name);
      dtype = is;
      return true;
    } catch (const std::runtime_error&) {  // of another type
      return false;
    }
  };
  return read(DType::kF32, &SafetensorsFile::F32) || read(DType::kF64, &SafetensorsFile::F64) ||
         read(DType::kI64, &SafetensorsFile::I64) || read(DType::kU64, &SafetensorsFile::U64);
}

struct Tensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  DType dtype = DType::kF32;
  Values values{};

  std::span<const std::byte> bytes() const {
    return std::visit([](const auto& list) { return std::as_bytes(std::span(list)); }, values);
  }
};

std::vector<Tensor> TensorsOf(const SafetensorsFile& file) {
  std::vector<Tensor> tensors;
  for (const std::string& name : file.names()) {
    Tensor tensor{.name = name, .shape = file.Shape(name)};
    if (ReadAny(file, name, tensor.dtype, tensor.values)) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// A parsed file can be written, and reads back the same.
void WriteAndReadAgain(const SafetensorsFile& file) {
  static const fuzz::Scratch scratch;
  const std::vector<Tensor> tensors = TensorsOf(file);
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) {
    views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes()});
  }
  const std::filesystem::path path = scratch / "again";
  WriteSafetensors(path, views, file.metadata());
  const SafetensorsFile again = SafetensorsFile::Read(path);
  CHECK(again.metadata() == file.metadata());
  const std::vector<Tensor> second = TensorsOf(again);
  CHECK(second.size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(second[i].name == tensors[i].name && second[i].shape == tensors[i].shape);
    CHECK(second[i].dtype == tensors[i].dtype &&
          std::ranges::equal(second[i].bytes(), tensors[i].bytes()));
  }
}

void Judge(std::string_view bytes) {
  const fuzz::MemoryFile on_disk(bytes);
  try {
    WriteAndReadAgain(SafetensorsFile::Read(on_disk.path()));
  } catch (const std::runtime_error& refusal) {
    const std::string_view sentence = refusal.what();
    CHECK(sentence.starts_with(on_disk.path().string()), "{}", sentence);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string file(fuzz::AsText(data, size));
  Judge(file);
  if (Sign(file)) Judge(file);
  return 0;
}
