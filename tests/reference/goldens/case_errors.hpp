// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool_node.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace superstep::conformance {

/// Marks exceptions raised by a program of a case; all others come from superstep itself.
class by_program {
protected:
  ~by_program() = default;
};

/// Exception classes of the cases without a counterpart in superstep. @{
class other_error : public std::runtime_error, public named_error {
public:
  using std::runtime_error::runtime_error;
};
class case_error : public other_error {
public:
  using other_error::other_error;
};
class case_child_error : public case_error {
public:
  using case_error::case_error;
};
class runtime_failure : public other_error {
public:
  using other_error::other_error;
};
class connection_failure : public other_error {
public:
  using other_error::other_error;
};
/// @}

template <class Base>
class raised final : public Base, public by_program {
public:
  raised(std::string name, const std::string& message) : Base{message}, name_{std::move(name)} {}
  [[nodiscard]] std::string_view error_name() const noexcept override { return name_; }

private:
  std::string name_;
};

/// Throws an exception of the class that a case names.
[[noreturn]] inline void raise(const std::string& name, const std::string& message) {
  if (name == "CaseError")
    throw raised<case_error>{name, message};
  if (name == "CaseChildError")
    throw raised<case_child_error>{name, message};
  if (name == "ValueError")
    throw raised<tool_value_error>{name, message};
  if (name == "RuntimeError")
    throw raised<runtime_failure>{name, message};
  if (name == "ConnectionError")
    throw raised<connection_failure>{name, message};
  if (name == "ToolException")
    throw raised<tool_exception>{name, message};
  throw raised<other_error>{name, message};
}

[[nodiscard]] inline error_type class_named(std::string_view name) {
  if (name == "CaseError")
    return error_type::of<case_error>();
  if (name == "CaseChildError")
    return error_type::of<case_child_error>();
  if (name == "ValueError")
    return error_type::of<tool_value_error>();
  if (name == "RuntimeError")
    return error_type::of<runtime_failure>();
  if (name == "ConnectionError")
    return error_type::of<connection_failure>();
  if (name == "ToolException")
    return error_type::of<tool_exception>();
  if (name == "Exception")
    return error_type::of<std::exception>();
  throw std::invalid_argument{"cases have no class " + std::string{name}};
}

} // namespace superstep::conformance
