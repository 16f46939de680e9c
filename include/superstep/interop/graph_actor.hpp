// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/caf.hpp>
#include <superstep/actors/engine.hpp>
#include <superstep/interop/actor_client.hpp>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/error.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep {

/// Converts an error code to a caf::error with the category `ss_actor`; see the overload for
/// graph_errc. May be called from any thread.
[[nodiscard]] caf::error make_error(actor_errc code);
/// The message that starts a run of a graph; see spawn_graph(). For actors of this process only.
///
///     self->request(agent, caf::infinite, ss::graph_call<ss::chat_state>{"Hello!"})
///         .then([](const ss::run_result<ss::chat_state>& result) { … });
template <class State>
class graph_call {
public:
  /// @param input an input of the graph; see engine
  /// @param config the options of the run
  template <run_input_of<State> Input = detail::default_input<State>>
  graph_call(Input input, run_config config = {})
      : input_{[input = std::move(input)](const compiled_graph<State>& graph) {
          return detail::input_for(graph, Input(input));
        }},
        config_{std::move(config)} {}

  /// Sends the events of the run to an actor, each as a message of its own: values_event<State>,
  /// update_event, message_event, custom_event, task_event, checkpoint_event or debug_event. The
  /// events are requests, whose (empty) responses show that the reader keeps up. They arrive in
  /// order, and before the response to this message.
  /// @param reader receives the events. If it ends, further events are dropped and the run
  /// continues.
  /// @param modes the kinds of events to send, combined with |
  /// @param buffer_max number of events without a response at which the run pauses before its next
  /// super-step. It continues when at most half as many are open.
  graph_call& stream_to(caf::actor reader, stream_mode modes, std::size_t buffer_max = 1'024) {
    reader_ = std::move(reader);
    modes_ = modes;
    buffer_max_ = buffer_max;
    return *this;
  }

  // Used by the actor of the graph.
  /// Returns the input for a graph. Throws graph_error if it is invalid.
  [[nodiscard]] detail::run_input input_for(const compiled_graph<State>& graph) const {
    return input_(graph);
  }
  /// Returns the options of the run.
  [[nodiscard]] const run_config& config() const noexcept { return config_; }
  /// Returns the receiver of the events; empty if there is none.
  [[nodiscard]] const caf::actor& reader() const noexcept { return reader_; }
  /// Returns the kinds of events to send.
  [[nodiscard]] stream_mode modes() const noexcept { return modes_; }
  /// Returns the number of open events at which the run pauses.
  [[nodiscard]] std::size_t buffer_max() const noexcept { return buffer_max_; }

private:
  std::function<detail::run_input(const compiled_graph<State>&)> input_;
  run_config config_;
  caf::actor reader_;
  stream_mode modes_ = stream_mode::none;
  std::size_t buffer_max_ = 0;
};

} // namespace superstep

/// @cond doxygen does not know the templates of CAF
// These types may be the content of messages between actors of one process.
template <class State>
struct caf::allowed_unsafe_message_type<superstep::graph_call<State>> : std::true_type {};
template <class State>
struct caf::allowed_unsafe_message_type<superstep::run_result<State>> : std::true_type {};
template <class State>
struct caf::allowed_unsafe_message_type<superstep::values_event<State>> : std::true_type {};
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::update_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::message_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::custom_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::task_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::checkpoint_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::debug_event)
/// @endcond

namespace superstep {

namespace detail {

/// Connects the actor of a graph with its engine. The engine closes the link and ends the actor
/// when it shuts down.
class engine_link {
public:
  virtual ~engine_link() = default;
  /// Sets the actor to end at shutdown. Ends it at once if the engine has shut down.
  virtual void set_actor(const caf::actor& actor) = 0;
  /// Starts a run, whose events go to `sink` if it is set. `done` is called on a thread of the
  /// engine. Throws graph_error if the input is invalid or the engine has shut down.
  virtual run_handle start(const program_ptr& program, run_input input, run_config config,
                           std::function<void(raw_result)> done, stream_mode modes,
                           std::shared_ptr<event_sink> sink) = 0;
};
[[nodiscard]] std::shared_ptr<engine_link> link_to(engine& e, const caf::actor_system& system);

/// Returns a sink that sends events to an actor; see graph_call::stream_to().
/// @param message_of makes the message of an event
[[nodiscard]] std::shared_ptr<event_sink>
make_actor_sink(const caf::actor& reader, std::size_t buffer_max,
                std::function<caf::message(run_event&&)> message_of);

/// The result of a run on its way from the engine to the actor of its graph.
struct run_end {
  std::uint64_t number;
  std::shared_ptr<raw_result> result;
};

/// Parses the input of a JSON graph. Throws graph_error if it is not the text of a JSON object.
[[nodiscard]] json::object object_of_text(const std::string& text);
/// Returns the result of a run whose actor has ended.
[[nodiscard]] raw_result result_of_exit();
/// Returns the error of a result that has no final state; none if the run finished.
[[nodiscard]] std::optional<caf::error> error_of(const raw_result& result, bool with_interrupts);
/// Returns the exception being handled as an error. `whose` names the code that threw.
[[nodiscard]] caf::error caf_error_of_exception(std::string_view whose);

} // namespace detail
} // namespace superstep

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::detail::run_end)

namespace superstep::detail {

/// The actor of a graph; see spawn_graph().
template <class State>
class graph_actor final : public caf::event_based_actor {
public:
  graph_actor(caf::actor_config& config, std::shared_ptr<engine_link> link,
              compiled_graph<State> graph)
      : caf::event_based_actor{config}, link_{std::move(link)}, graph_{std::move(graph)} {}

  caf::behavior make_behavior() override {
    auto common = caf::message_handler{
        [this](const graph_call<State>& call) -> caf::result<run_result<State>> {
          auto promise = make_response_promise<run_result<State>>();
          start(call, promise, [this, promise](raw_result&& raw) mutable {
            if (auto why = error_of(raw, false))
              promise.deliver(std::move(*why));
            else
              deliver(promise, [&] { return typed_result(adapter_of(graph_), std::move(raw)); });
          });
          return promise;
        },
        [this](const run_end& ended) {
          const auto found = runs_.find(ended.number);
          if (found == runs_.end()) // its start has failed, and was answered
            return;
          auto answer = std::move(found->second.answer);
          runs_.erase(found);
          answer(std::move(*ended.result));
        }};
    if constexpr (std::same_as<State, json::object>)
      return common.or_else([this](const std::string& text) { return run_text(text); });
    else if constexpr (caf::is_serializable_or_whitelisted<State>::value)
      return common.or_else([this](const State& input) -> caf::result<State> {
        return run_plain<State>([&] { return graph_call<State>{input}; },
                                [](State&& last) { return std::move(last); });
      });
    else
      return common;
  }
  /// Cancels the runs and answers their requests.
  void on_exit() override {
    for (auto& [number, run] : std::exchange(runs_, {})) {
      run.handle.cancel();
      run.answer(result_of_exit());
    }
  }
  const char* name() const override { return "superstep.graph"; }

private:
  struct active_run {
    run_handle handle;
    std::function<void(raw_result&&)> answer;
  };

  /// Runs a JSON graph whose input and last state are JSON text.
  caf::result<std::string> run_text(const std::string& text) {
    return run_plain<std::string>([&] { return graph_call<State>{object_of_text(text)}; },
                                  [](State&& last) { return to_text(last); });
  }
  /// Runs the graph and answers with a value that is made of its last state.
  /// @param make_call returns the graph_call. If it throws, only this request fails.
  template <class Answer, class MakeCall, class Convert>
  caf::result<Answer> run_plain(MakeCall make_call, Convert convert) {
    auto promise = make_response_promise<Answer>();
    try {
      start(make_call(), promise, [this, promise, convert](raw_result&& raw) mutable {
        if (auto why = error_of(raw, true))
          promise.deliver(std::move(*why));
        else
          deliver(promise, [&] {
            return convert(std::move(typed_result(adapter_of(graph_), std::move(raw)).state));
          });
      });
    } catch (...) { // of make_call; start() answers its own failures
      promise.deliver(caf_error_of_exception("reading the input of the run"));
    }
    return promise;
  }
  /// Delivers what `make` returns. It calls user code, such as a copy of the state. If that throws,
  /// only this request fails.
  template <class Promise, class Make>
  static void deliver(Promise& promise, Make make) {
    auto failed = std::optional<caf::error>{};
    try {
      promise.deliver(make());
    } catch (...) {
      failed = caf_error_of_exception("converting the result of the run");
    }
    if (failed)
      promise.deliver(std::move(*failed));
  }
  /// Starts a run. If that fails, the request is answered with the error.
  template <class Promise>
  void start(const graph_call<State>& call, Promise& promise,
             std::function<void(raw_result&&)> answer) {
    const auto number = ++last_number_;
    // a weak reference, because a run must not keep its actor alive
    auto at_end = [number, to = caf::actor_cast<caf::actor_addr>(this)](raw_result raw) {
      if (const auto alive = caf::actor_cast<caf::actor>(to))
        caf::anon_send(alive, run_end{number, std::make_shared<raw_result>(std::move(raw))});
    };
    try {
      auto& mine = runs_[number];
      mine.answer = std::move(answer);
      auto sink = std::shared_ptr<event_sink>{};
      if (call.reader())
        sink = make_actor_sink(call.reader(), call.buffer_max(), [graph = graph_](run_event&& e) {
          return std::visit(
              [](auto&& event) { return caf::make_message(std::forward<decltype(event)>(event)); },
              event_from<State>(std::move(e), adapter_of(graph), program_of(graph)));
        });
      mine.handle = link_->start(program_of(graph_), call.input_for(graph_), call.config(),
                                 std::move(at_end), sink ? call.modes() : stream_mode::none, sink);
    } catch (...) { // also of user code, such as a copy of the input; the other runs continue
      runs_.erase(number);
      promise.deliver(caf_error_of_exception("starting the run"));
    }
  }

  std::shared_ptr<engine_link> link_;
  compiled_graph<State> graph_;
  std::map<std::uint64_t, active_run> runs_;
  std::uint64_t last_number_ = 0;
};

} // namespace superstep::detail

namespace superstep {

/// Spawns a CAF actor that runs a graph. It handles any number of runs at the same time. It answers
/// these messages:
/// - `graph_call<State>` with a `run_result<State>`, also if the run was interrupted
/// - `State`, if that is a CAF message type, with the last State of the graph
/// - for a graph over json::object, a `std::string` with the text of a JSON object. The response is
///   the text of the last state.
///
/// A run that fails is answered with a caf::error (caf_error_of()). The last two messages are also
/// answered with an error, actor_errc::interrupted, if the run was interrupted. They may come from
/// other processes: publish the actor with caf::io.
///
/// An exit message ends the actor and cancels its runs, whose requests are answered with
/// graph_errc::actor_exited. Without a handle, the actor ends when its last run has ended. If the
/// sender of a request ends, the run continues.
///
/// @param system the actor system of the actor. The actor runs on its workers; the runs are
/// executed by the engine. Throws std::invalid_argument for the actor system of the engine.
/// @param e the engine. When it is destroyed, it ends the actor with
/// caf::exit_reason::user_shutdown. With engine_options::runs_max, use when_full::refuse: otherwise
/// the actor may block a worker of its system until a run has ended.
/// @param graph the graph to run
/// @par Threads
/// May be called from any thread.
template <class State>
[[nodiscard]] caf::actor spawn_graph(caf::actor_system& system, engine& e,
                                     compiled_graph<State> graph) {
  auto link = detail::link_to(e, system);
  auto actor =
      caf::actor_cast<caf::actor>(system.spawn<detail::graph_actor<State>>(link, std::move(graph)));
  link->set_actor(actor);
  return actor;
}

} // namespace superstep
