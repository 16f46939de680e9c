// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/signature.hpp>
#include <superstep/interop/actor_client.hpp>

#include <caf/is_typed_actor.hpp>

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

namespace superstep {

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

} // namespace superstep
