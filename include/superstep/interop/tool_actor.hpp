// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/interop/actor_client.hpp>
#include <superstep/tools/make_tool.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace superstep {

namespace detail {

/// Makes a tool that sends its arguments as JSON text.
[[nodiscard]] tool_ptr json_tool_actor(tool_definition definition, actor_client actor,
                                       actor_call_options options);
/// Throws tool_unavailable.
[[noreturn]] void throw_unavailable(const error& why);
/// Awaits the result of an actor's tool. An actor that has ended becomes tool_unavailable, so that
/// the model does not read it as the result.
template <class Answer>
task<Answer> tool_answer(task<Answer> asking) {
  auto why = error{};
  try {
    if constexpr (std::is_void_v<Answer>) {
      co_await asking;
      co_return;
    } else {
      auto got = co_await asking;
      co_return got;
    }
  } catch (const actor_error& e) {
    if (e.code() != actor_errc::down)
      throw;
    why = error{e.code(), e.what()};
  }
  throw_unavailable(why);
}

} // namespace detail

/// Makes a tool whose calls are requests to a CAF actor:
///
///     struct city_args { std::string city; };
///     BOOST_DESCRIBE_STRUCT(city_args, (), (city))
///     CAF_ALLOW_UNSAFE_MESSAGE_TYPE(city_args) // or inspect(), which a remote actor requires
///     using weather_actor = caf::typed_actor<caf::replies_to<city_args>::with<std::string>>;
///
///     auto tool = ss::tool_actor<city_args>("weather", "Current weather in a city.", handle);
///
/// A call sends the checked arguments as one Args and awaits the answer; it does not block a
/// thread. See actor_client for monitoring and cancellation, and make_tool() for Args.
///
/// If the actor has ended, the call fails the node with tool_unavailable, whose code is
/// actor_errc::down. Thus the model does not read that failure, and retry policies of the node see
/// it. Any other failure is an actor_error; the node's tool_errors decide whether it becomes an
/// answer for the model.
///
/// @tparam Args a described struct that is a CAF message type
/// @tparam Answer the type of the response of a dynamic actor; see make_tool() for the allowed
/// types. The signature of a typed actor determines it.
/// @param name unique among the tools of an agent
/// @param description what the tool does and when to call it, for the model
/// @param actor a caf::actor or typed_actor; kept alive by the tool
/// @param options the limits of each call
template <class Args, class Answer = std::string, class Handle>
[[nodiscard]] tool_ptr tool_actor(std::string name, std::string description, const Handle& actor,
                                  actor_call_options options = {}) {
  using given = detail::answer_of<Handle, Args>;
  static_assert(given::is_accepted, "the typed actor has no signature that takes the arguments: "
                                    "caf::replies_to<your_args>::with<...>");
  using answer =
      std::conditional_t<caf::is_typed_actor<Handle>::value, typename given::type, Answer>;
  static_assert(!std::same_as<answer, caf::message> && !std::is_void_v<answer>,
                "the actor of a tool must answer with one value, e.g. std::string");
  return make_tool<Args>(std::move(name), std::move(description),
                         [client = actor_client{actor}, options](const Args& args) {
                           return detail::tool_answer(client.request<answer>(options, args));
                         });
}

/// Makes a tool whose calls are requests to a CAF actor that takes the arguments as JSON text
/// (std::string) and answers with the text that the model reads (std::string). For actors in other
/// processes, or in other languages that implement CAF's protocol. Otherwise as the overload above.
/// @param definition name, description and JSON Schema of the arguments
template <class Handle>
[[nodiscard]] tool_ptr tool_actor(tool_definition definition, const Handle& actor,
                                  actor_call_options options = {}) {
  static_assert(
      !caf::is_typed_actor<Handle>::value ||
          std::same_as<typename detail::answer_of<Handle, std::string>::type, std::string>,
      "the typed actor needs the signature "
      "caf::replies_to<std::string>::with<std::string>");
  return detail::json_tool_actor(std::move(definition), actor_client{actor}, options);
}

} // namespace superstep
