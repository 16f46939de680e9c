// SPDX-License-Identifier: Apache-2.0
// The error codes of the base library, the classification of errors as shortages of a resource, and
// the conversion of result<T>'s errors to exceptions.
#include "base/error_table.hpp"
#include "base/held_exception.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/base/error.hpp>

#include <boost/system/system_error.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <ostream>
#include <system_error>

namespace superstep {

namespace {

constexpr detail::error_entry<errc> code_table[] = {
    {errc::invalid_argument, "invalid_argument", "invalid argument"},
    {errc::not_found, "not_found", "not found"},
    {errc::parse_failed, "parse_failed", "parse error"},
    {errc::io_failed, "io_failed", "I/O error"},
    {errc::timed_out, "timed_out", "timed out"},
    {errc::cancelled, "cancelled", "cancelled"},
    {errc::too_large, "too_large", "size limit exceeded"},
    {errc::killed, "killed", "the actor was terminated"},
    {errc::shortage, "shortage", "a system resource is exhausted"},
};

} // namespace

std::error_code make_error_code(errc code) noexcept {
  static const auto category =
      detail::error_table<errc>{"superstep", "errc", "unknown error", code_table};
  return {static_cast<int>(code), category};
}

std::string to_string(std::error_code code) {
  if (const auto* named = dynamic_cast<const detail::named_category*>(&code.category()))
    if (auto name = named->code_name(code.value()); !name.empty())
      return name;
  return std::string{code.category().name()} + ':' + std::to_string(code.value());
}

std::ostream& operator<<(std::ostream& out, const error_code& code) {
  return out << to_string(code);
}

bool is_shortage(std::error_code code) noexcept {
  // A code is compared with errno values only if its category uses them.
  if (code == make_error_code(errc::shortage))
    return true;
  if (code.category() != std::generic_category() && code.category() != std::system_category())
    return false;
  switch (code.value()) {
  case EMFILE:
  case ENFILE:
  case EAGAIN:
  case ENOMEM:
  case ENOBUFS:
  case ENOSPC:
  case EDQUOT:
    return true;
  default:
    return false;
  }
}

std::error_code failure_code(const std::exception_ptr& cause, std::error_code otherwise) noexcept {
  const auto is_of_shortage = [](const std::exception& e) {
    const auto* failed = dynamic_cast<const std::system_error*>(&e);
    const auto* of_asio = dynamic_cast<const boost::system::system_error*>(&e);
    return dynamic_cast<const std::bad_alloc*>(&e) != nullptr ||
           (failed != nullptr && is_shortage(failed->code())) ||
           (of_asio != nullptr && is_shortage(of_asio->code()));
  };
  return detail::visit_nested(cause, is_of_shortage) ? make_error_code(errc::shortage) : otherwise;
}

void throw_exception_from_error(const error& e, const boost::source_location&) {
  throw std::system_error{e.code, e.text};
}

namespace detail {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: internal error: assertion `%s` failed (please report)\n", file, line,
               condition);
  std::abort();
}

} // namespace detail

} // namespace superstep
