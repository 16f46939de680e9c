// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/tools/argument_schema.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// A mixin that gives an exception a class name for the model: `Error: Name('text')`. For other
/// exceptions the model reads only the text, because names of C++ classes mean nothing to it.
/// Derive from it and from an exception of std.
class named_error {
public:
  /// Returns the name that the model reads.
  [[nodiscard]] virtual std::string_view error_name() const noexcept = 0;

protected:
  ~named_error() = default;
};

/// Thrown by a tool that cannot do what the model asked; the model reads the text.
class tool_exception : public std::runtime_error, public named_error {
public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] std::string_view error_name() const noexcept override { return "ToolException"; }
};

/// Thrown if a tool cannot run for a reason outside the call: the machine lacks descriptors,
/// processes or memory (is_shortage(code())), or the configuration is wrong. Never answered,
/// whatever the node's tool_errors: it fails the node, and the model gets no result.
class tool_unavailable : public std::system_error {
public:
  explicit tool_unavailable(const error& why) : std::system_error{why.code}, text_{why.text} {}
  /// Returns the error's text without the code's general message, which system_error would append.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

/// Whether an exception, or one nested in it, must not become an answer: tool_unavailable,
/// std::bad_alloc, another system_error whose code is a shortage, or a checkpointer's write error
/// (checkpoint_errc::failed).
[[nodiscard]] bool is_unavailable(const std::exception_ptr& failure) noexcept;

/// Thrown if the arguments of a call do not match the tool's schema.
class tool_invocation_error : public tool_exception {
public:
  tool_invocation_error(std::string_view tool, const json::object& arguments,
                        std::vector<argument_fault> faults)
      : tool_exception{describe_faults(tool, arguments, faults)}, faults_{std::move(faults)} {}
  [[nodiscard]] std::string_view error_name() const noexcept override {
    return "ToolInvocationError";
  }
  /// The errors of the arguments.
  [[nodiscard]] const std::vector<argument_fault>& faults() const noexcept { return faults_; }

private:
  std::vector<argument_fault> faults_;
};

/// Thrown for an input that a tool node cannot use, or a tool's result that it cannot pass on.
class tool_value_error : public std::invalid_argument, public named_error {
public:
  using std::invalid_argument::invalid_argument;
  [[nodiscard]] std::string_view error_name() const noexcept override { return "ValueError"; }
};

/// Thrown if the input of a tool node is an empty list.
class empty_message_list : public std::out_of_range, public named_error {
public:
  empty_message_list() : std::out_of_range{"list index out of range"} {}
  [[nodiscard]] std::string_view error_name() const noexcept override { return "IndexError"; }
};

/// Thrown if a tool requires a field that the state does not have.
class missing_state_field : public std::out_of_range, public named_error {
public:
  explicit missing_state_field(std::string field);
  [[nodiscard]] std::string_view error_name() const noexcept override { return "KeyError"; }
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
  std::string field_;
};

/// A predicate for a class of exceptions and the classes derived from it.
class error_type {
public:
  /// Returns the predicate for class E.
  template <class E>
  [[nodiscard]] static error_type of() noexcept {
    return error_type{[]([[maybe_unused]] const std::exception& e) {
      if constexpr (std::same_as<E, std::exception>)
        return true;
      else
        return dynamic_cast<const E*>(&e) != nullptr;
    }};
  }
  /// Whether the exception belongs to the class.
  [[nodiscard]] bool matches(const std::exception& e) const { return matches_(e); }

private:
  using test = bool (*)(const std::exception&);
  explicit error_type(test is_one) noexcept : matches_{is_one} {}
  test matches_;
};

namespace detail {

/// The parameter type of a function object with one parameter.
template <class Call>
struct parameter_of;
template <class F, class R, class E>
struct parameter_of<R (F::*)(E) const> : std::remove_cvref<E> {};

} // namespace detail

/// Returns the standard text for the model: `Error: Name('text')`, or `Error: text` for exceptions
/// that are not a named_error, with the advice to fix the mistake.
/// Source: `TOOL_CALL_ERROR_TEMPLATE` in LangGraph 1.2.22, prebuilt/tool_node.py.
[[nodiscard]] std::string error_template(const std::exception& e);

/// Selects the failures of tool calls that become answers for the model, and the texts of these
/// answers. Failures that are not selected are thrown by the call and fail the node.
///
/// Calls of unknown tools are always answered. Copyable; shared by all calls.
/// Source: `handle_tool_errors` of `ToolNode` in LangGraph 1.2.22, prebuilt/tool_node.py.
class tool_errors {
public:
  /// Returns the text for an exception.
  using function = std::function<std::string(const std::exception&)>;

  /// All failures, with error_template(); invalid arguments with the text of tool_invocation_error.
  tool_errors() = default;
  /// All failures, with error_template().
  [[nodiscard]] static tool_errors all();
  /// All failures, with one fixed text.
  [[nodiscard]] static tool_errors text(std::string content);
  /// Failures of these classes, with error_template().
  [[nodiscard]] static tool_errors only(std::vector<error_type> types);
  /// Failures of the classes E..., with error_template().
  template <class... E>
  [[nodiscard]] static tool_errors only() {
    return only({error_type::of<E>()...});
  }
  /// Failures of the classes in `types` (empty: all), with the text that a function returns. The
  /// function may be called by any number of threads at once.
  [[nodiscard]] static tool_errors by(function words, std::vector<error_type> types = {});
  /// Failures of the class of the function's parameter: by([](const std::out_of_range& e) { … }).
  template <class F>
    requires(!std::convertible_to<F, function>)
  [[nodiscard]] static tool_errors by(F words) {
    using caught = typename detail::parameter_of<decltype(&F::operator())>::type;
    static_assert(std::derived_from<caught, std::exception>,
                  "the parameter of a handler of errors is a class of exceptions");
    return by(function{[words = std::move(words)](const std::exception& e) -> std::string {
                if (const auto* one = dynamic_cast<const caught*>(&e))
                  return words(*one);
                return error_template(e); // through an interceptor, of another class
              }},
              {error_type::of<caught>()});
  }
  /// Only invalid arguments, with the text of tool_invocation_error.
  [[nodiscard]] static tool_errors bad_calls();
  /// Handles nothing: every failure is thrown.
  [[nodiscard]] static tool_errors none();

  /// Returns the answer to a failure; nullopt if it must be thrown.
  [[nodiscard]] std::optional<std::string> answer(const std::exception& e) const;
  /// Returns the answer to an exception of an interceptor, whatever its class; nullopt only for
  /// none().
  [[nodiscard]] std::optional<std::string> answer_any(const std::exception& e) const;

private:
  enum class kind : std::uint8_t { plain, all, text, types, function, none };
  [[nodiscard]] std::string words(const std::exception& e) const;

  kind kind_ = kind::plain;
  std::string text_{};
  std::vector<error_type> types_{};
  function words_{};
};

} // namespace superstep
