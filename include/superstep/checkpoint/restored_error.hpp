// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace superstep {

/// A mixin for exceptions that choose the class name stored with a thread. For exceptions without
/// it, the demangled C++ type name is stored. Derive from it in addition to the exception class.
class named_exception {
public:
  named_exception() = default;
  named_exception(const named_exception&) = default;
  named_exception& operator=(const named_exception&) = default;
  virtual ~named_exception() = default;
  /// Returns the name to store; it must stay valid as long as the exception.
  /// Returns the name to store; it must stay valid as long as the exception.
  [[nodiscard]] virtual std::string_view error_class() const noexcept = 0;
};

/// An exception that was read from storage in place of the one that a task threw. It has the
/// original text and class name; a nested exception is restored as its nested exception.
class restored_error : public std::runtime_error, public named_exception {
public:
  restored_error(std::string type, const std::string& text)
      : runtime_error{text}, type_{std::move(type)} {}
  [[nodiscard]] std::string_view error_class() const noexcept override { return type_; }

private:
  std::string type_;
};

/// A restored std::system_error. Used if the error category is one of
/// graph_layout::error_categories, a standard one, or one of this library; otherwise the exception
/// is restored as restored_error.
class restored_system_error : public std::system_error, public named_exception {
public:
  restored_system_error(std::error_code code, std::string type, std::string text)
      : system_error{code}, type_{std::move(type)}, text_{std::move(text)} {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] std::string_view error_class() const noexcept override { return type_; }

private:
  std::string type_;
  std::string text_;
};

/// Returns the class name that is stored for an exception: error_class() of a named_exception, else
/// the demangled C++ type name. Empty for null and for types not derived from std::exception.
[[nodiscard]] std::string class_of(const std::exception_ptr&);

} // namespace superstep
