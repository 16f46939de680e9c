// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <string>
#include <system_error>

namespace superstep {

/// Reasons why a tool has failed in a way that the model must not answer.
enum class tool_errc {
  worker_failed = 1, ///< a worker of a command tool did not answer a call as it must
};

/// Returns the code in the category of tools; makes tool_errc convertible to std::error_code. May
/// be called from any thread.
[[nodiscard]] std::error_code make_error_code(tool_errc) noexcept;

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::tool_errc> : std::true_type {};

namespace superstep {

/// Thrown if a tool has failed because of a defect of its program, so that the text of the failure
/// is not a result. It always fails the node, independent of tool_errors, and the model gets no
/// result. Unlike tool_unavailable, other calls of the tool may succeed, and the call may have had
/// its effect.
class tool_failed : public std::system_error {
public:
  /// Makes the exception with code and text of the error `why`.
  explicit tool_failed(const error& why) : std::system_error{why.code}, text_{why.text} {}
  /// Returns the error's text without the code's general message, which system_error would append.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

} // namespace superstep
