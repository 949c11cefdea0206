#include "net/cuda/cublas_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/gpu.h"
#include "core/site_packages.h"

namespace starling::net::cuda {
namespace {

namespace fs = std::filesystem;

// The folders to look in. "": where the system looks.
std::vector<fs::path> Folders() {
  std::vector<fs::path> folders = {"", STARLING_CUDA_LIBRARIES, "/usr/local/cuda/lib64"};
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  // $STARLING_PYTHON, bin/python of a virtual environment, comes before those on PATH.
  const std::string own = fs::path(variable("STARLING_PYTHON")).parent_path().string();
  for (const fs::path& root :
       PythonRoots(variable("VIRTUAL_ENV"), own + ":" + variable("PATH"), variable("HOME"))) {
    for (const fs::path& folder : NvidiaFolders(root)) folders.push_back(folder);
  }
  return folders;
}

// Tries the release of the headers first.
void* OpenLibrary() {
  const std::vector<fs::path> folders = Folders();
  const std::string own = fmt::format(".{}", CUBLAS_VER_MAJOR);
  for (const std::string& release : {own, std::string(".13"), std::string(".12"), std::string()}) {
    for (const fs::path& folder : folders) {
      const fs::path file = folder / ("libcublas.so" + release);
      if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  throw UserError(
      "cuBLAS was not found (libcublas.so.12 or .13): install it (package cuda-libraries or "
      "libcublas of NVIDIA's, the CUDA Toolkit, or nvidia-cublas by pip) or add its folder to "
      "LD_LIBRARY_PATH, or set actors.backend = \"auto\"");
}

template <class Function>
void Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return;
  throw UserError(fmt::format(
      "cuBLAS lacks {}: install that of CUDA 12 or newer, or set actors.backend = \"auto\"", name));
}

}  // namespace

const CublasLibrary& CublasLibrary::Open() {
  static const CublasLibrary library = [] {
    CublasLibrary functions{};
    void* const opened = OpenLibrary();
    Find(opened, "cublasCreate_v2", functions.create);
    Find(opened, "cublasDestroy_v2", functions.destroy);
    Find(opened, "cublasSetStream_v2", functions.set_stream);
    Find(opened, "cublasSetWorkspace_v2", functions.set_workspace);
    Find(opened, "cublasGetStatusString", functions.status_string);
    Find(opened, "cublasGemmEx", functions.gemm);
    Find(opened, "cublasGemmStridedBatchedEx", functions.gemm_strided_batched);
    return functions;
  }();
  return library;
}

void CublasLibrary::Check(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string failed =
      fmt::format("the GPU: {} by cuBLAS failed ({})", what, status_string(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED || status == CUBLAS_STATUS_NOT_INITIALIZED) {
    throw UserError(fmt::format("{}: perhaps {}", failed, kGpuMemoryFull));
  }
  throw std::runtime_error(failed + ": run `starling doctor`");
}

}  // namespace starling::net::cuda
