// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/object_box.hpp>
#include <superstep/base/detail/optional_box.hpp>
#include <superstep/base/detail/wrong_type.hpp>
#include <superstep/base/json.hpp>
#include <superstep/checkpoint/detail/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace superstep {

/// The context that a caller passes to a run: one object of any type, shared read-only by all
/// nodes. The counterpart of `context` in LangGraph's `invoke()`.
///
/// It must be read as the element type of the shared_ptr that was stored, without const. A base
/// class of that type does not match. All members may be called from any thread.
class run_context {
public:
  /// Creates an empty context.
  run_context() noexcept = default;
  /// Creates an empty context.
  run_context(std::nullptr_t) noexcept {}
  /// Stores an object and shares its ownership. A null pointer creates an empty context.
  template <class T>
    requires(!std::is_void_v<T>)
  run_context(std::shared_ptr<T> object) noexcept
      : object_{std::move(object)},
        type_{object_ != nullptr ? &typeid(std::remove_cv_t<T>) : nullptr} {}

  /// Whether there is an object.
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Whether there is an object, and it has this type.
  template <class T>
  [[nodiscard]] bool holds() const noexcept {
    return type_ != nullptr && *type_ == typeid(T);
  }
  /// Returns the object, or null if there is none. Throws wrong_type if the object has another
  /// type. Valid as long as a copy of the context exists.
  template <class T>
  [[nodiscard]] const T* get() const {
    if (object_ != nullptr && !holds<T>())
      detail::throw_wrong_type("the context of the run", type_, typeid(T));
    return static_cast<const T*>(object_.get());
  }
  /// Returns the object with shared ownership, or null if there is none of this type.
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> share_if() const noexcept {
    return holds<T>() ? std::static_pointer_cast<const T>(object_) : nullptr;
  }
  /// Returns the object, or null if there is none of this type. Valid as long as a copy of the
  /// context exists.
  template <class T>
  [[nodiscard]] const T* get_if() const noexcept {
    return holds<T>() ? static_cast<const T*>(object_.get()) : nullptr;
  }

private:
  std::shared_ptr<const void> object_;
  const std::type_info* type_ = nullptr;
};

/// When the checkpoints of a run are saved (`Durability` in langgraph/types.py).
enum class durability : std::uint8_t {
  async, ///< each is saved while the next step runs; the run ends when all are durable
  sync,  ///< each is durable before the next step starts
  exit,  ///< only the last one is saved, when the run ends, fails or is interrupted
};

/// Options of a run that concern its thread, besides run_config::thread_id. The checkpointer, store
/// and cache are shared with the caller; the run keeps them alive.
struct thread_options {
  std::string checkpoint_id{}; ///< id of the checkpoint to start from; empty: the newest
  /// The namespace of a subgraph (task_snapshot::nested_ns), for engine::get_state() and
  /// engine::update_state(). Empty: the outermost graph. Runs ignore it.
  std::string checkpoint_ns{};
  /// When the run's checkpoints are saved.
  superstep::durability durability = superstep::durability::async;
  /// Whether the run waits, fails or takes the thread over if another run holds it.
  busy_policy on_busy = busy_policy::wait;
  /// Nodes before which the run is interrupted; `*` names all. Replaces
  /// compile_options::interrupt_before, which applies if this is not set and in subgraphs. A run
  /// that names an unknown node fails with graph_errc::unknown_node.
  std::optional<std::vector<std::string>> interrupt_before{};
  /// Nodes after which the run is interrupted; otherwise as interrupt_before.
  std::optional<std::vector<std::string>> interrupt_after{};
  /// The checkpointer of the run and its subgraphs; null: that of the graph. engine::get_state()
  /// and engine::update_state() always use that of the graph.
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  /// The long-term memory of the run and its subgraphs; null: that of the graph.
  std::shared_ptr<superstep::store> store{};
  /// The cache of the run and its subgraphs; null: that of the graph.
  std::shared_ptr<write_cache> cache{};
};

/// The default limit of the super-steps of a run. LangGraph 1.2.22 has a limit of 10,007
/// (`recursion_limit`).
inline constexpr std::uint32_t default_recursion_limit = 25;

/// The options of one run (`RunnableConfig` and the keyword arguments of `invoke()` in LangGraph).
/// The engine copies them at the start. All nodes of the run and of its subgraphs read the same
/// copy.
struct run_config {
  /// Names the run in error texts. The ids of messages and other ids that the run generates begin
  /// with it, or with the thread_id if it is empty. If both are empty, the ids of messages are
  /// unique, and differ each time.
  std::string run_id{};
  /// The thread (the conversation) that the run belongs to. Required if there is a checkpointer:
  /// without it, the run fails with errc::invalid_argument.
  std::string thread_id{};
  /// The run fails with graph_errc::recursion_limit unless it ends in fewer super-steps than this.
  /// At least 1. A chain of n nodes needs n + 1.
  std::uint32_t recursion_limit = default_recursion_limit;
  /// The largest number of tasks that have started but not ended; a task that waits for its next
  /// attempt does not count. Not set, or 0: no limit. With a limit, no task starts after another
  /// one has failed. Each subgraph counts its own tasks.
  std::optional<std::uint32_t> max_concurrency{};
  /// The longest time that the whole run may take, including the wait for its thread. The run then
  /// fails with graph_errc::deadline. Not set: no limit.
  std::optional<std::chrono::milliseconds> deadline{};
  /// Free for the application's use; the engine does not read them.
  std::vector<std::string> tags{};
  /// Entries that are saved with the run's checkpoints, if they are texts, numbers or booleans.
  /// Used to select checkpoints (checkpoint_query::metadata). Names that LangGraph reserves, such
  /// as `step` and those that start with `__` or `langgraph_`, are not saved.
  object_box metadata{};
  /// Parameters that bodies read with runtime::config(). Saved with checkpoints like `metadata`.
  object_box configurable{};
  /// Options of a run on a thread; not set: their defaults.
  optional_box<thread_options> thread{};
  run_context context{}; ///< read by bodies with runtime::context<T>()
};

} // namespace superstep
