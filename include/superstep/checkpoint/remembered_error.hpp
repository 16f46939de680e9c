// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace superstep {

/// An exception that says its class by a name of its own, which is kept with a thread. Of others
/// the C++ name is kept. Derive from it beside the exception itself.
class named_error {
public:
  named_error() = default;
  named_error(const named_error&) = default;
  named_error& operator=(const named_error&) = default;
  virtual ~named_error() = default;
  [[nodiscard]] virtual std::string_view error_class() const noexcept = 0;
};

/// What a task threw in another process, or before its thread was loaded: the class by name, the
/// text, and nested in it what was nested.
class remembered_error : public std::runtime_error, public named_error {
public:
  remembered_error(std::string type, const std::string& text)
      : runtime_error{text}, type_{std::move(type)} {}
  [[nodiscard]] std::string_view error_class() const noexcept override { return type_; }

private:
  std::string type_;
};

/// The same, of a std::system_error with a code that is known here.
class remembered_system_error : public std::system_error, public named_error {
public:
  remembered_system_error(std::error_code code, std::string type, std::string text)
      : system_error{code}, type_{std::move(type)}, text_{std::move(text)} {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] std::string_view error_class() const noexcept override { return type_; }

private:
  std::string type_;
  std::string text_;
};

/// The name of an exception's class as it is kept; empty for what is no std::exception.
[[nodiscard]] std::string class_of(const std::exception_ptr&);

} // namespace superstep
