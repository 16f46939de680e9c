// SPDX-License-Identifier: Apache-2.0
// The exception that typed accessors throw for a value of another type. It is not inline, so that
// the callers need not include the demangling of type names.
#include <superstep/base/detail/wrong_type.hpp>

#include <boost/core/demangle.hpp>

#include <string>
#include <string_view>

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
  constexpr auto block = std::string_view{"superstep::struct_block<"};
  auto name = boost::core::demangle(type.name());
  if (!name.starts_with(block) || !name.ends_with('>'))
    return name;
  // The block around a state struct is internal; callers know the struct.
  name = name.substr(block.size(), name.size() - block.size() - 1);
  return name.substr(0, name.find_last_not_of(' ') + 1); // demanglers write "a<b<c> >"
}

} // namespace detail
} // namespace superstep
