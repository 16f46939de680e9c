// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <typeinfo>

namespace superstep {

/// Thrown by a typed accessor if the object has a different type. what() names the object and both
/// types.
class wrong_type : public std::bad_cast {
public:
  /// @param object description of the object, for the text
  /// @param is the type of the object; null if there is no object
  /// @param asked_for the type that the caller asked for
  wrong_type(std::string_view object, const std::type_info* is, const std::type_info& asked_for);
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

namespace detail {

/// Throws wrong_type. Out of line, so that a checked accessor costs its caller only a comparison.
[[noreturn]] void throw_wrong_type(const char* object, const std::type_info* is,
                                   const std::type_info& asked_for);

/// Returns the demangled name of a type, for error texts. For the block around a state struct,
/// returns the name of the struct.
[[nodiscard]] std::string type_name(const std::type_info&);

} // namespace detail
} // namespace superstep
