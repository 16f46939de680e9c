// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/await.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/runtime/graph_error.hpp>
#include <superstep/runtime/runtime.hpp>
#include <superstep/runtime/update.hpp>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <caf/error.hpp>

#include <cstdint>
#include <string>
#include <utility>

// The actors of a run, for programs that use CAF. This header includes CAF, which makes a file
// slower to compile; <superstep/superstep.hpp> does not include it.
namespace superstep {

/// Returns the CAF actor of the body: that of its node, or of its Send or tool call. Other actors
/// may monitor it, link to it and send it exit messages (see actor_ref::exit()). It ends with
/// caf::exit_reason::normal when its work has ended: the run for a node that edges trigger, the
/// call for a Send or a tool call. It answers requests with caf::sec::unexpected_message.
///
/// The handle is strong. While it exists, the engine does not reuse the actor for other work. It
/// may outlive the engine, because all its actors have ended then.
/// @throws std::logic_error outside a body that an engine runs
/// @par Threads
/// May be called from any thread while the body runs or is suspended.
[[nodiscard]] caf::actor self(const runtime& rt);

/// Returns the CAF actor of the body's run, its coordinator; otherwise as self(). It handles these
/// messages:
/// - `run_write`: writes a value to a channel of the run
/// - `write_atom::value, std::string channel, std::string json`: writes a value that is JSON text.
///   For graphs over JSON, and for actors in other processes. The handle cannot be sent to them:
///   an actor of the program passes on their messages.
/// - `cancel_atom::value`: cancels the run, as run_handle::cancel()
/// - `drain_atom::value`, optionally with a `std::string` reason: ends the run before its next
///   super-step, as run_handle::drain()
///
/// To cancel or drain a nested run is to cancel or drain the run that it is part of. Both requests
/// are answered with an empty message when the run has received them.
///
/// A write is applied at the next barrier, after the writes of the tasks of that step, in the
/// order of arrival. It wakes bodies that wait for it (next_write()). A request is answered with an
/// empty message when the write has been applied. It is answered with an error if the run ends
/// before (caf::sec::request_receiver_down), or if the value is not valid for the channel
/// (graph_errc::invalid_update and codes of channels). An invalid write does not fail the run.
[[nodiscard]] caf::actor coordinator(const runtime& rt);

/// A write to a channel of a run, as a message to its coordinator(). For actors of this process.
struct run_write {
  std::string channel;    ///< name of the channel, e.g. of a field of the state
  value content;          ///< the value, of the type that nodes write to the channel
  bool overwrite = false; ///< replaces the value of the channel without calling its reducer
};

namespace detail {
/// Returns the name of a field, which is the name of its channel.
template <auto Member, class State = typename field<Member>::state>
[[nodiscard]] std::string channel_of_field() {
  auto name = std::string{};
  auto index = std::uint32_t{0};
  boost::mp11::mp_for_each<fields_of<typename field<Member>::state>>([&](auto d) {
    if (index++ == field_index<Member>())
      name = d.name;
  });
  return name;
}
} // namespace detail

/// Returns the write of a value to a field: `write_of<&state::approved>(true)`.
template <auto Member, class Value, class State = typename detail::field<Member>::state>
[[nodiscard]] run_write write_of(Value&& content) {
  auto written = update{set<Member>(std::forward<Value>(content))};
  auto& first = *written.writes().begin();
  return {detail::channel_of_field<Member>(), std::move(first.content), first.overwrite};
}
/// The first element of a message that writes JSON text to a channel; see coordinator().
using write_atom = caf::atom_constant<caf::atom("write")>;
/// The message that cancels a run; see coordinator().
using cancel_atom = caf::atom_constant<caf::atom("cancel")>;
/// The first element of a message that drains a run; see coordinator().
using drain_atom = caf::atom_constant<caf::atom("drain")>;

namespace detail {
/// Passes the next write to a channel of the body's run to `done`, or an error.
void await_write(const runtime& rt, std::string channel, completer<result<value>> done);
} // namespace detail

/// Waits until another actor writes to a channel of the body's run, and returns the value. Does not
/// block a thread. A run without a task to execute has ended; therefore a run waits for a write in
/// the body of a node, where timeouts and cancellation apply.
///
/// Writes that have arrived during this super-step, and that no body has waited for, are returned
/// at once, in order. If several bodies wait, each of them gets the write. The channel itself
/// changes at the barrier, so the next nodes see it. Routers of this node do not.
/// @tparam T type of the value
/// @throws graph_error from the co_await if the graph has no such channel, and wrong_type if the
/// value has another type
template <class T>
[[nodiscard]] task<T> next_write(runtime rt, std::string channel) {
  auto waiting = await_callback<result<value>>([&](completer<result<value>> done) {
    detail::await_write(rt, std::move(channel), std::move(done));
  });
  auto got = co_await waiting;
  if (!got) {
    auto why = run_error{};
    why.code = got.error().code;
    why.text = got.error().text;
    throw graph_error{std::move(why)};
  }
  co_return T(got->template as<T>());
}

/// Converts an error code of a run to a caf::error with the category `ss_graph`. Enables
/// comparisons such as `error == superstep::graph_errc::deadline`. May be called from any thread.
[[nodiscard]] caf::error make_error(graph_errc code);
/// Converts the error of a run to a caf::error. The category is `ss_graph` for a graph_errc,
/// `ss_actor` for an actor_errc, and `ss_other` otherwise. The context contains run_error::text and
/// the name of the code, both as std::string. May be called from any thread.
[[nodiscard]] caf::error caf_error_of(const run_error& error);
/// Returns the text of an error that caf_error_of() has made; empty for other errors. May be called
/// from any thread.
[[nodiscard]] std::string text_of(const caf::error& error);

} // namespace superstep

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::run_write)
