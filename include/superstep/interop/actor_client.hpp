// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>

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

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::actor_errc> : std::true_type {};
