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

/// An exception whose class the model is told: `Error: Name('text')`. Of others it reads the text
/// alone, for names of C++ classes tell it nothing. A base beside one of std's exceptions.
class named_error {
public:
  [[nodiscard]] virtual std::string_view error_name() const noexcept = 0;

protected:
  ~named_error() = default;
};

/// What a tool throws to tell the model that it could not do what was asked.
class tool_exception : public std::runtime_error, public named_error {
public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] std::string_view error_name() const noexcept override { return "ToolException"; }
};

/// A tool could not be run for a reason that is neither the model's nor the tool's: the machine is
/// short of something (is_shortage(code())), or the set-up is wrong. Never answered, whatever the
/// node's tool_errors: it fails the node, and the model gets no result.
class tool_unavailable : public std::system_error {
public:
  explicit tool_unavailable(const error& why) : std::system_error{why.code}, text_{why.text} {}
  /// The text alone: system_error would add the code's general message to it.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

/// Whether an exception, or one nested in it, is a tool_unavailable, a std::bad_alloc, another
/// system_error whose code is a shortage, or that of a checkpointer that cannot write
/// (checkpoint_errc::failed).
[[nodiscard]] bool is_unavailable(const std::exception_ptr& failure) noexcept;

/// The arguments of a call do not fit the tool's schema.
class tool_invocation_error : public tool_exception {
public:
  tool_invocation_error(std::string_view tool, const json::object& arguments,
                        std::vector<argument_fault> faults)
      : tool_exception{describe_faults(tool, arguments, faults)}, faults_{std::move(faults)} {}
  [[nodiscard]] std::string_view error_name() const noexcept override {
    return "ToolInvocationError";
  }
  [[nodiscard]] const std::vector<argument_fault>& faults() const noexcept { return faults_; }

private:
  std::vector<argument_fault> faults_;
};

/// An input that a node of tools cannot use, or a result that it cannot pass on.
class tool_value_error : public std::invalid_argument, public named_error {
public:
  using std::invalid_argument::invalid_argument;
  [[nodiscard]] std::string_view error_name() const noexcept override { return "ValueError"; }
};

/// The input of a node of tools is a list without messages.
class empty_message_list : public std::out_of_range, public named_error {
public:
  empty_message_list() : std::out_of_range{"list index out of range"} {}
  [[nodiscard]] std::string_view error_name() const noexcept override { return "IndexError"; }
};

/// A tool wants a field that the state does not have.
class missing_state_field : public std::out_of_range, public named_error {
public:
  explicit missing_state_field(std::string field);
  [[nodiscard]] std::string_view error_name() const noexcept override { return "KeyError"; }
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
  std::string field_;
};

/// A class of exceptions, derived ones included.
class error_type {
public:
  template <class E>
  [[nodiscard]] static error_type of() noexcept {
    return error_type{[]([[maybe_unused]] const std::exception& e) {
      if constexpr (std::same_as<E, std::exception>)
        return true;
      else
        return dynamic_cast<const E*>(&e) != nullptr;
    }};
  }
  [[nodiscard]] bool matches(const std::exception& e) const { return matches_(e); }

private:
  using test = bool (*)(const std::exception&);
  explicit error_type(test is_one) noexcept : matches_{is_one} {}
  test matches_;
};

namespace detail {

/// What the class of a function object with one parameter is called with.
template <class Call>
struct parameter_of;
template <class F, class R, class E>
struct parameter_of<R (F::*)(E) const> : std::remove_cvref<E> {};

} // namespace detail

/// `Error: Name('text')`, or `Error: text` of what has no name for models, and the advice to fix
/// it.
[[nodiscard]] std::string error_template(const std::exception& e);

/// Which failures of calls become answers that the model reads, and in which words
/// (handle_tool_errors of the reference). What is not handled is thrown by the call.
///
/// Calls of unknown tools are always answered. Copyable; shared by all calls.
class tool_errors {
public:
  using function = std::function<std::string(const std::exception&)>;

  /// All; wrong arguments in the words of tool_invocation_error, the rest by the template.
  tool_errors() = default;
  /// All, by the template: `Error: Name('text')` and that the model should fix its mistakes.
  [[nodiscard]] static tool_errors all();
  /// All, with one text.
  [[nodiscard]] static tool_errors text(std::string content);
  /// These classes, by the template.
  [[nodiscard]] static tool_errors only(std::vector<error_type> types);
  template <class... E>
  [[nodiscard]] static tool_errors only() {
    return only({error_type::of<E>()...});
  }
  /// The classes that `types` lists (empty: all), in the words of a function, which may be called
  /// by any number of calls at once.
  [[nodiscard]] static tool_errors by(function words, std::vector<error_type> types = {});
  /// The class that the function's parameter names: by([](const std::out_of_range& e) { … }).
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
  /// Wrong arguments alone, in the words of tool_invocation_error.
  [[nodiscard]] static tool_errors bad_calls();
  /// None.
  [[nodiscard]] static tool_errors none();

  /// The answer to this failure; nothing: it is to be thrown on.
  [[nodiscard]] std::optional<std::string> answer(const std::exception& e) const;
  /// The answer to what came out of an interceptor, whatever its class; nothing only with none().
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
