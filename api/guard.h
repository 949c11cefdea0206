// Between C and C++: no exception leaves a function of the library, and structs of callers that
// were compiled with another version are read and written as far as both know them.
//
// Thread safety: a sentence belongs to the thread that failed.
#pragma once

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>

#include "api/starling.h"
#include "core/error.h"

namespace starling::api {

// Runs `function`; an exception becomes its status and sentence.
template <class Function>
starling_status Guarded(const Function& function) {
  try {
    function();
    return STARLING_OK;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is cancelled
  } catch (const UserError& error) {
    return starling_fail(STARLING_MISTAKE, error.what());
  } catch (const std::bad_alloc&) {
    return starling_fail(STARLING_FAILED, "there is not enough memory");
  } catch (const std::exception& error) {
    return starling_fail(STARLING_FAILED, error.what());
  } catch (...) {
    return starling_fail(STARLING_FAILED, "an unknown exception");
  }
}

// Throws UserError if `pointer`, the argument called `name`, is NULL.
inline void Require(const void* pointer, const char* name) {
  if (pointer == nullptr) throw UserError(fmt::format("{} is NULL", name));
}

template <class Struct>
std::size_t SizeOf(const Struct& theirs, const char* name) {
  constexpr std::size_t kMost = 4096;  // a size that was never set is hardly ever smaller
  static_assert(offsetof(Struct, size) == 0 && std::is_trivially_copyable_v<Struct>);
  if (theirs.size >= sizeof(std::size_t) && theirs.size <= kMost) return theirs.size;
  throw UserError(fmt::format("{0}->size is {1}: set it to sizeof *{0}", name, theirs.size));
}

// Throws UserError unless a caller's struct can be written.
template <class Struct>
void RequireStruct(const Struct* theirs, const char* name) {
  Require(theirs, name);
  SizeOf(*theirs, name);
}

// Returns a caller's struct as this version has it: members that the caller does not know are 0.
// Throws UserError if it sets members that are unknown here.
template <class Struct>
Struct Read(const Struct* theirs, const char* name) {
  Require(theirs, name);
  const std::size_t size = SizeOf(*theirs, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(theirs);
  for (std::size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] == 0) continue;
    throw UserError(fmt::format(
        "{} sets a member that this library does not know: it has interface {}, the program was "
        "compiled for a newer one",
        name, STARLING_INTERFACE));
  }
  Struct known{};
  std::memcpy(&known, theirs, std::min(size, sizeof(Struct)));
  return known;
}

// Writes the members that the caller knows; those that are unknown here become 0.
template <class Struct>
void Write(Struct ours, Struct* theirs, const char* name) {
  Require(theirs, name);
  const std::size_t size = SizeOf(*theirs, name), shared = std::min(size, sizeof(Struct));
  ours.size = size;
  std::memcpy(theirs, &ours, shared);
  std::memset(reinterpret_cast<unsigned char*>(theirs) + shared, 0, size - shared);
}

}  // namespace starling::api
