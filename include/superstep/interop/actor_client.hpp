// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/signature.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>
#include <superstep/tools/make_tool.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/error.hpp>
#include <caf/is_typed_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <caf/response_type.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

// This header and the others of this folder include CAF, which makes a file about 1.7 s slower to
// compile. <superstep/superstep.hpp> does not include them.
namespace superstep {

/// The reasons why a request to a CAF actor fails.
enum class actor_errc {
  down = 1,          ///< the actor has ended, or its node is not reachable
  timed_out,         ///< the actor did not answer in time
  refused,           ///< the actor answered with a caf::error
  unexpected_answer, ///< the answer has another type than the caller expects
  interrupted,       ///< a graph that answers requests was interrupted; see spawn_graph()
};
/// Returns the code in the error category `actor`. May be called from any thread.
[[nodiscard]] std::error_code make_error_code(actor_errc) noexcept;

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::actor_errc> : std::true_type {};

namespace superstep {

/// The exception of a request to a CAF actor that failed. code() is an actor_errc. A retry_policy
/// without `retry_on` retries it (is_worth_a_retry()).
class actor_error : public std::system_error {
public:
  /// Creates an exception whose what() is `text`.
  actor_error(actor_errc code, std::string text, caf::error reason = {});
  /// Returns the text, without the general message of the code.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  /// Returns the exit reason of the actor (actor_errc::down), or the error with which the actor
  /// answered (actor_errc::refused). Empty for the other codes. Valid as long as the exception.
  [[nodiscard]] const caf::error& reason() const noexcept { return reason_; }

private:
  std::string text_;
  caf::error reason_;
};

/// The limits of one request to a CAF actor.
struct actor_call_options {
  /// The longest time until the answer; at least 1 ms. Not set: no limit, except those of the node
  /// or tool that makes the request.
  std::optional<std::chrono::milliseconds> timeout{};
};

namespace detail {

class reply_port;

/// Owns the port of an actor_client, and ends it.
class port_owner {
public:
  explicit port_owner(caf::strong_actor_ptr target);
  port_owner(const port_owner&) = delete;
  port_owner& operator=(const port_owner&) = delete;
  ~port_owner();
  [[nodiscard]] reply_port& port() const noexcept;
  [[nodiscard]] const caf::strong_actor_ptr& handle() const noexcept { return port_; }

private:
  caf::strong_actor_ptr port_;
};
using port_ptr = std::shared_ptr<const port_owner>;

/// Sends a message as a request and awaits the content of the response. Throws actor_error.
[[nodiscard]] task<caf::message> ask_actor(port_ptr port, caf::message request,
                                           actor_call_options options);
/// Throws actor_error: the answer has another type.
[[noreturn]] void throw_unexpected(const reply_port& port, const caf::message& answer);

/// Awaits a response and converts it to an Answer.
template <class Answer>
task<Answer> typed_answer(port_ptr port, caf::message request, actor_call_options options) {
  auto asking = ask_actor(port, std::move(request), options);
  caf::message got = co_await asking;
  if constexpr (std::same_as<Answer, caf::message>) {
    co_return got;
  } else if constexpr (!std::is_void_v<Answer>) {
    if (!got.match_elements<Answer>())
      throw_unexpected(port->port(), got);
    co_return got.move_if_unshared<Answer>(0);
  }
}

/// The type of the answers that an actor gives to a request: the only output of the signature of a
/// typed actor, void if it has no output, and caf::message for other handles.
template <class Outputs>
struct single_output {
  using type = caf::message;
};
template <class T>
struct single_output<caf::detail::type_list<T>> {
  using type = T;
};
template <>
struct single_output<caf::detail::type_list<>> {
  using type = void;
};

template <class Handle, class... Request>
struct answer_of {
  using type = caf::message;
  static constexpr bool is_accepted = true;
};
template <class... Signatures, class... Request>
struct answer_of<caf::typed_actor<Signatures...>, Request...> {
  using response =
      caf::response_type<typename caf::typed_actor<Signatures...>::signatures, Request...>;
  static constexpr bool is_accepted = response::valid;
  static auto output() {
    if constexpr (is_accepted)
      return single_output<typename response::type>{};
    else
      return single_output<void>{};
  }
  using type = typename decltype(output())::type;
};

} // namespace detail

/// A CAF actor as the bodies of nodes and tools see it: sends requests to the actor and awaits the
/// responses. The actor may be typed or dynamic, in this process or in another one.
///
///     auto client = ss::actor_client{handle};
///     auto answer = client.request<int>({.timeout = 2s}, 20, 22); // in a coroutine
///     auto sum = co_await answer;
///
/// The client monitors the actor once. If the actor ends, all open requests fail at once with
/// actor_errc::down, and so does every later request. An actor that ends before it has answered
/// counts as failed, even if it has delegated the request.
///
/// A coroutine that awaits a response does not block a thread. If the coroutine is destroyed, for
/// example because its run was cancelled, the request is forgotten and a late response is dropped.
/// CAF has no message that cancels a request, so the actor is not notified.
///
/// Copies share the monitor and the open requests.
/// @par Threads
/// All members may be called from any thread.
/// @par Lifetime
/// The client keeps the actor alive. As every CAF handle, it must be destroyed before the actor
/// system of the actor.
class actor_client {
public:
  /// Starts to monitor an actor. Throws std::invalid_argument if the handle is empty.
  /// @param handle a caf::actor, a typed_actor or a strong_actor_ptr
  template <class Handle>
    requires(!std::same_as<std::remove_cvref_t<Handle>, actor_client>)
  explicit actor_client(const Handle& handle)
      : port_{std::make_shared<const detail::port_owner>(
            caf::actor_cast<caf::strong_actor_ptr>(handle))} {}

  /// Sends a request and returns a task that awaits the response.
  /// @tparam Answer the type of the response; caf::message for any response, void to ignore it
  /// @param args the content of the message. Their types must be CAF message types, or be allowed
  /// by CAF_ALLOW_UNSAFE_MESSAGE_TYPE if the actor is in this process.
  /// @throws actor_error from the co_await
  template <class Answer = caf::message, class... Args>
  [[nodiscard]] task<Answer> request(actor_call_options options, Args&&... args) const {
    return detail::typed_answer<Answer>(port_, caf::make_message(std::forward<Args>(args)...),
                                        options);
  }
  /// Whether the actor has not ended, as far as the client knows.
  [[nodiscard]] bool is_alive() const;

private:
  detail::port_ptr port_;
};

namespace detail {

/// The type that a node_actor expects as the response, given the function that receives it.
template <class F>
struct awaited_answer {
  using type = void; // the function takes no parameter
};
template <class F>
  requires requires { std::tuple_size<typename signature<F>::parameters>::value; } &&
           (std::tuple_size_v<typename signature<F>::parameters> > 0)
struct awaited_answer<F> {
  using type = std::remove_cvref_t<std::tuple_element_t<0, typename signature<F>::parameters>>;
};

/// Fails to compile if a typed actor does not answer a request with an Answer.
template <class Handle, class Answer, class... Request>
constexpr void check_node_signature() {
  using given = answer_of<Handle, Request...>;
  static_assert(given::is_accepted,
                "the typed actor has no signature that takes what to_request returns");
  static_assert(!caf::is_typed_actor<Handle>::value || !given::is_accepted ||
                    std::same_as<typename given::type, Answer>,
                "from_answer must take the type that the typed actor answers with");
}

/// The type that `from_answer` returns for an Answer.
template <class FromAnswer, class Answer>
using node_result_of =
    typename std::conditional_t<std::is_void_v<Answer>, std::invoke_result<const FromAnswer&>,
                                std::invoke_result<const FromAnswer&, Answer>>::type;

/// Awaits a response and converts it to the result of the node.
template <class Answer, class FromAnswer>
task<node_result_of<FromAnswer, Answer>> answered(task<Answer> asking, FromAnswer from_answer) {
  if constexpr (std::is_void_v<Answer>) {
    co_await asking;
    co_return from_answer();
  } else {
    auto got = co_await asking;
    co_return from_answer(std::move(got));
  }
}

} // namespace detail

/// Makes the body of a node that is a request to a CAF actor:
///
///     graph.add("price", ss::node_actor(
///         handle,                                                    // a typed or dynamic actor
///         [](const order& o) { return o.item; },                     // the request
///         [](double price) { return ss::set<&order::price>(price); } // the result of the node
///     ));
///
/// The body sends the request, awaits the response and returns what `from_answer` makes of it. It
/// does not block a thread. A failure is an actor_error, which retry policies and error handlers of
/// the node see. See actor_client for monitoring and cancellation.
///
/// @param actor a caf::actor or typed_actor; kept alive by the body
/// @param to_request takes the input of the node, and returns the content of the request: a value
/// of a CAF message type, a std::tuple of several, or a caf::message
/// @param from_answer takes the response, and returns the result of the node: anything that a body
/// may return, also nothing. Its parameter must have the type of the response; it has no parameter
/// if the response has no content. Both functions are called by several runs at the same time.
/// @param options the limits of each request
template <class Handle, class ToRequest, class FromAnswer>
[[nodiscard]] auto node_actor(const Handle& actor, ToRequest to_request, FromAnswer from_answer,
                              actor_call_options options = {}) {
  using answer = typename detail::awaited_answer<FromAnswer>::type;
  return [
    client = actor_client{actor}, to_request = std::move(to_request),
    from_answer = std::move(from_answer),
    options
  ]<class Input>(const Input& input)
    requires std::invocable<const ToRequest&, const Input&>
  {
    using request = std::remove_cvref_t<std::invoke_result_t<const ToRequest&, const Input&>>;
    if constexpr (requires { std::tuple_size<request>::value; }) {
      return std::apply(
          [&]<class... Parts>(Parts&&... parts) {
            detail::check_node_signature<Handle, answer, std::remove_cvref_t<Parts>...>();
            return detail::answered(client.request<answer>(options, std::forward<Parts>(parts)...),
                                    from_answer);
          },
          to_request(input));
    } else {
      if constexpr (!std::same_as<request, caf::message>)
        detail::check_node_signature<Handle, answer, request>();
      return detail::answered(client.request<answer>(options, to_request(input)), from_answer);
    }
  };
}

namespace detail {

/// Makes a tool that sends its arguments as JSON text.
[[nodiscard]] tool_ptr json_tool_actor(tool_definition definition, actor_client actor,
                                       actor_call_options options);
/// Throws tool_unavailable.
[[noreturn]] void throw_unavailable(const error& why);
/// Awaits the result of an actor's tool. An actor that has ended becomes tool_unavailable, so that
/// the model does not read it as the result.
template <class Answer>
task<Answer> actor_tool_answer(task<Answer> asking) {
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
                           return detail::actor_tool_answer(client.request<answer>(options, args));
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
