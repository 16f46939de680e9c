// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <system_error>
#include <utility>

namespace superstep {

/// What can go wrong below the graph: input and output, parsing, limits, time.
/// Each component adds an enum and a category of its own beside this one.
enum class errc {
  invalid_argument = 1, ///< a value that the caller must change
  not_found,            ///< a name, file or key that does not exist
  parse_failed,         ///< text that is not what its format says
  io_failed,            ///< the operating system refused or failed
  timed_out,            ///< a deadline passed
  cancelled,            ///< somebody asked for the end
  too_large,            ///< a bound of an options struct was reached
  killed,               ///< the actor that ran it was told to exit
  shortage,             ///< the machine lacks descriptors, processes, memory or disk space
};

[[nodiscard]] std::error_code make_error_code(errc) noexcept;

/// Whether the machine lacks something that may be free again later: errc::shortage, or one of
/// EMFILE, ENFILE, EAGAIN, ENOMEM, ENOBUFS, ENOSPC, EDQUOT in the generic or system category.
/// Callers wait and retry or stop; a shortage is never the result of a tool or of a row.
/// EAGAIN counts because fork() and pthread_create() report a full process table with it; do not
/// ask this about a non-blocking read or write.
[[nodiscard]] bool is_shortage(std::error_code) noexcept;

/// Something expected that went wrong: a code to branch on and a text to show.
/// The text says what, where, and what to do about it.
struct error {
  std::error_code code;
  std::string text;

  error() = default; // no error at all; what result<void> wants to be able to make
  error(std::error_code c, std::string t) : code{c}, text{std::move(t)} {}
  template <class Enum>
    requires std::is_error_code_enum_v<Enum>
  error(Enum c, std::string t) : code{make_error_code(c)}, text{std::move(t)} {}

  friend bool operator==(const error&, const error&) = default;
};

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::errc> : std::true_type {};
