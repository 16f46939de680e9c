// SPDX-License-Identifier: Apache-2.0
// The exception that typed accessors throw for a value of another type. It is not inline, so that
// the callers need not include the demangling of type names.
#include <superstep/base/detail/wrong_type.hpp>

#include <boost/core/demangle.hpp>

namespace superstep {

wrong_type::wrong_type(std::string_view object, const std::type_info* is,
                       const std::type_info& asked_for)
    : text_{std::string{object} +
            (is != nullptr ? " has type " + detail::type_name(*is) : " is empty") +
            ", but was accessed as " + detail::type_name(asked_for)} {}

namespace detail {

void throw_wrong_type(const char* object, const std::type_info* is,
                      const std::type_info& asked_for) {
  throw wrong_type{object, is, asked_for};
}

std::string type_name(const std::type_info& type) {
  return boost::core::demangle(type.name());
}

} // namespace detail
} // namespace superstep
