// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/result.hpp>

#include <exception>
#include <iosfwd>
#include <string>
#include <system_error>
#include <utility>

namespace superstep {

/// General error codes: input and output, parsing, limits, time. Components with more specific
/// errors have enums and error categories of their own, such as model_errc and checkpoint_errc.
enum class errc {
  invalid_argument = 1, ///< a value that the caller must change
  not_found,            ///< a name, file or key that does not exist
  parse_failed,         ///< text that does not match its format
  io_failed,            ///< the operating system refused or failed
  timed_out,            ///< a deadline passed
  cancelled,            ///< cancelled on request
  too_large,            ///< a bound of an options struct was reached
  killed,               ///< the actor that ran the operation was terminated
  shortage,             ///< the machine lacks descriptors, processes, memory or disk space
};

/// Returns the code in superstep's base category; makes errc convertible to std::error_code. May be
/// called from any thread.
[[nodiscard]] std::error_code make_error_code(errc) noexcept;

/// Returns the name of a code as it is written in C++, e.g. "graph_errc::deadline". For codes of
/// other libraries: category and number, e.g. "system:2". May be called from any thread.
[[nodiscard]] std::string to_string(std::error_code code);

/// A std::error_code whose output in a stream is its name; see to_string().
class error_code : public std::error_code {
public:
  using std::error_code::error_code;
  /// Creates the code that means success.
  error_code() noexcept = default;
  /// Copies a code.
  error_code(std::error_code code) noexcept : std::error_code{code} {}
};
/// Prints to_string(code).
std::ostream& operator<<(std::ostream& out, const error_code& code);
/// Prints the name of an enumerator, e.g. `graph_errc::deadline`.
template <class Enum>
  requires std::is_error_code_enum_v<Enum>
std::ostream& operator<<(std::ostream& out, Enum code) {
  return out << error_code{make_error_code(code)};
}

/// Whether an error means a temporary lack of a system resource: errc::shortage, or one of EMFILE,
/// ENFILE, EAGAIN, ENOMEM, ENOBUFS, ENOSPC, EDQUOT in the generic or system category. Callers wait
/// and retry, or stop. A shortage must never be recorded as the result of a tool or row. May be
/// called from any thread.
///
/// EAGAIN is included because fork() and pthread_create() report a full process table with it. Do
/// not use this function for non-blocking reads and writes.
[[nodiscard]] bool is_shortage(std::error_code) noexcept;

/// Returns the code with which an exception of user code is reported as an error: errc::shortage if
/// the exception, or one nested in it, is a std::bad_alloc or a std::system_error whose code
/// is_shortage(). For any other exception and for null, returns `otherwise`. May be called from any
/// thread.
[[nodiscard]] std::error_code failure_code(const std::exception_ptr&,
                                           std::error_code otherwise) noexcept;

/// An expected failure: a code to branch on, and a text for people that states what failed, where,
/// and what to do.
struct error {
  error_code code;     ///< kind of the failure
  std::string text;    ///< a text for people, without a trailing newline
  int http_status = 0; ///< status of the HTTP answer that reported the failure; 0: there is none

  /// Makes an empty error, which result<void> requires for its success state.
  error() = default;
  /// Makes an error from the code `c` and the text `t`.
  error(std::error_code c, std::string t) : code{c}, text{std::move(t)} {}
  /// Makes an error from the enumerator `c` and the text `t`, e.g. `error{errc::not_found, "…"}`.
  template <class Enum>
    requires std::is_error_code_enum_v<Enum>
  error(Enum c, std::string t) : code{make_error_code(c)}, text{std::move(t)} {}

  friend bool operator==(const error&, const error&) = default;
};

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::errc> : std::true_type {};

namespace superstep {

/// A value or an `error`: the return type of functions that can fail. value() throws
/// std::system_error if there is no value; `*` and `->` require a value.
template <class T = void>
using result = boost::system::result<T, error>;

/// Throws std::system_error with code and text of the error. Called by result<T>::value(), on any
/// thread.
[[noreturn]] void throw_exception_from_error(const error&, const boost::source_location&);

} // namespace superstep
