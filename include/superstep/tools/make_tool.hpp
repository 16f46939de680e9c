// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/never.hpp>
#include <superstep/base/detail/signature.hpp>
#include <superstep/tools/detail/described_json.hpp>
#include <superstep/tools/tool.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {

/// Converts the result of a tool's function to a tool_output. @{
inline tool_output to_output(tool_output out) {
  return out;
}

template <class R>
tool_output to_output(R value) {
  if constexpr (std::same_as<R, message> || std::same_as<R, tool_command> ||
                std::same_as<R, std::vector<tool_item>>) {
    auto out = tool_output{};
    out.reply = tool_reply{std::move(value)};
    return out;
  } else if constexpr (std::convertible_to<R, std::string>) {
    auto out = tool_output{};
    out.content = std::move(value);
    return out;
  } else {
    return superstep::output_of(written(value));
  }
}

template <class Content, class Artifact>
tool_output to_output(std::pair<Content, Artifact> both) {
  auto out = to_output(std::move(both.first));
  out.artifact = written(both.second);
  return out;
}
/// @}

/// Returns the injection for one member of the arguments.
template <class Field>
injection injection_of(const char* member) {
  using source = injection::source;
  if constexpr (from_state_of<Field>::value) {
    auto out = injection{member, source::field, std::string{Field::field}, {}};
    if constexpr (optional_of<typename from_state_of<Field>::type>::value)
      out.default_value = json::value{};
    return out;
  } else {
    constexpr auto from = std::same_as<Field, whole_state>      ? source::state
                          : std::same_as<Field, injected_store> ? source::store
                                                                : source::tool_call_id;
    return {member, from, {}, {}};
  }
}

/// Returns the injections for all members of the arguments that the tool node sets.
template <described_struct Args>
std::vector<injection> injections_of() {
  auto out = std::vector<injection>{};
  boost::mp11::mp_for_each<members_of<Args>>([&](auto member) {
    using field = std::remove_cvref_t<decltype(std::declval<Args>().*member.pointer)>;
    if constexpr (is_injected<field>)
      out.push_back(injection_of<field>(member.name));
  });
  return out;
}

/// Sets the injected stores. Unlike other injected values a store has no JSON form, so the tool
/// node cannot put it into the arguments of the call.
template <described_struct Args>
void give_store(Args& args, const tool_context& context) {
  boost::mp11::mp_for_each<members_of<Args>>([&](auto member) {
    using field = std::remove_cvref_t<decltype(args.*member.pointer)>;
    if constexpr (std::same_as<field, injected_store>)
      (args.*member.pointer).value = store_of(context);
  });
}

template <class Parameters>
struct first_of {};
template <class A, class... More>
struct first_of<std::tuple<A, More...>> {
  using type = std::remove_cvref_t<A>;
};

/// Returns a task that fails because the arguments of a call do not fit the argument struct. The
/// task throws tool_invocation_error with the faults of the model's arguments. If only injected
/// arguments have faults, it throws tool_unavailable, because the model cannot fix them.
/// @param call the call with its injected arguments, whose values do not become part of the error
/// @param injected the arguments that the tool node has set
/// @param faults the errors of all arguments; at least one
[[nodiscard]] task<tool_output> reject_arguments(const tool_call& call,
                                                 const std::vector<injection>& injected,
                                                 const std::vector<argument_fault>& faults);

/// The type of the first parameter of a function or of an object with one operator().
template <class F>
using first_parameter = typename first_of<typename signature<F>::parameters>::type;

/// Whether F is a function whose first parameter is a described struct, which then is the type of
/// the tool's arguments.
template <class F>
concept described_function =
    requires { typename first_parameter<F>; } && described_struct<first_parameter<F>>;

/// Fails to compile, with a sentence that states why F is not a described_function.
template <class F>
void explain_tool() {
  if constexpr (requires { typename first_parameter<F>; })
    static_assert(never<F>, "the first parameter of a tool's function must be a described struct "
                            "with the arguments: BOOST_DESCRIBE_STRUCT(your_args, (), (member, "
                            "...))");
  else
    static_assert(never<F>, "the function of the tool has no parameter, or has no single parameter "
                            "list (auto, or overloads): call make_tool<your_args>(...), where "
                            "your_args is a described struct");
}

/// A tool that calls a function with a described struct of arguments.
template <class Args, class Fn>
class function_tool final : public tool {
public:
  function_tool(tool_definition definition, Fn fn)
      : definition_{std::move(definition)}, fn_{std::move(fn)} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }

  [[nodiscard]] std::vector<injection> injections() const override { return injections_of<Args>(); }
  [[nodiscard]] bool uses_environment() const noexcept override {
    return !std::invocable<const Fn&, const Args&>;
  }

  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    auto args = Args{};
    give_store(args, context);
    auto reader = argument_reader{};
    reader.read_members(call.args, args, {});
    if (!reader.faults().empty())
      return reject_arguments(call, injections_of<Args>(), reader.faults());
    return run_with(std::move(args), context);
  }

private:
  /// Calls the function. `args` lives in the frame of this coroutine, so a coroutine may take it by
  /// reference.
  task<tool_output> run_with(Args args, const tool_context& context) const {
    using answer = decltype(call_fn(fn_, args, context));
    if constexpr (std::is_void_v<answer> || std::same_as<answer, task<void>>) {
      static_assert(never<answer>, "a tool's function must return what the model reads, such as "
                                   "\"done\"; it cannot return void");
      co_return tool_output{};
    } else if constexpr (is_task_v<answer>) {
      auto body = call_fn(fn_, args, context);
      auto value = co_await body;
      co_return to_output(std::move(value));
    } else {
      co_return to_output(call_fn(fn_, args, context));
    }
  }

  /// Calls the function with the parameters that it takes.
  static decltype(auto) call_fn(const Fn& fn, const Args& args, const tool_context& context) {
    static_assert(
        std::invocable<const Fn&, const Args&> ||
            std::invocable<const Fn&, const Args&, const tool_context&>,
        "a tool's function must take (const Args&) or (const Args&, const tool_context&), and be "
        "callable as const, because all calls share it. A tool reaches the run through its "
        "tool_context: context.environment->run->context<T>(), emit() and ask()");
    if constexpr (std::invocable<const Fn&, const Args&>)
      return fn(args);
    else
      return fn(args, context);
  }

  tool_definition definition_;
  Fn fn_;
};

} // namespace detail

/// Makes a tool from a function and a struct with its arguments. Does not check the name and the
/// schema. A tool_node rejects an empty name, a name that another of its tools has, and an invalid
/// schema. Model servers may reject further names: OpenAI's API accepts 1 to 64 letters, digits,
/// `_` and `-`. May be called from any thread.
///
/// @tparam Args a struct described with BOOST_DESCRIBE_STRUCT. Its members are the arguments:
/// strings, numbers, bools, std::vector, std::map<std::string, …>, described structs and enums, and
/// json values. A std::optional member is optional. Members of type from_state, whole_state,
/// injected_store and injected_call_id (tool.hpp) are set by the node and hidden from the model. A
/// static member `descriptions`, a range of pairs (name, text), describes the arguments to the
/// model.
/// @param name unique among the tools of an agent
/// @param description what the tool does and when to call it, for the model
/// @param fn takes `(const Args&)` or `(const Args&, tool_context)` and returns text, a number, a
/// bool, a json value, a described struct, a pair of content and artifact, a message, a
/// tool_command, a list of tool_items, a tool_output, or a task of one of these. Results that are
/// not text are written as JSON. The node's tool_errors decide whether an exception becomes an
/// answer. A call whose arguments do not fit `Args` throws tool_invocation_error.
/// @return the tool; it keeps `fn` alive
/// @par Threads
/// `fn` is shared by all calls and called by any number of threads at once. It may block.
///
/// Source: the decorator `tool` in langchain-core 1.7.2, tools/convert.py.
template <class Args, class Fn>
[[nodiscard]] tool_ptr make_tool(std::string name, std::string description, Fn fn) {
  static_assert(detail::described_struct<Args>,
                "the arguments of a tool must be a described struct: "
                "BOOST_DESCRIBE_STRUCT(your_args, (), (member, ...))");
  if constexpr (detail::described_struct<Args>) {
    auto definition =
        tool_definition{std::move(name), std::move(description), detail::schema_of_struct<Args>()};
    return std::make_shared<const detail::function_tool<Args, Fn>>(std::move(definition),
                                                                   std::move(fn));
  }
}

/// Makes a tool from a function whose first parameter is a described struct:
///
///     struct weather_args { std::string city; };
///     BOOST_DESCRIBE_STRUCT(weather_args, (), (city))
///     std::string weather(const weather_args& args);
///
///     auto tool = make_tool("weather", "Current weather in a city.", weather);
///
/// Same as `make_tool<weather_args>(…)`, whose description applies. Use that form for a function
/// with an `auto` parameter. May be called from any thread.
/// @param name unique among the tools of an agent
/// @param description what the tool does and when to call it, for the model
/// @param fn shared by all calls and called by any number of threads at once
/// @return the tool; it keeps `fn` alive
template <detail::described_function Fn>
[[nodiscard]] tool_ptr make_tool(std::string name, std::string description, Fn fn) {
  return make_tool<detail::first_parameter<Fn>>(std::move(name), std::move(description),
                                                std::move(fn));
}

/// Does not compile: the function does not take a described struct.
template <class Fn>
  requires(!detail::described_function<Fn>)
[[nodiscard]] tool_ptr make_tool(const std::string&, const std::string&, Fn) {
  detail::explain_tool<Fn>();
  return nullptr;
}

} // namespace superstep
