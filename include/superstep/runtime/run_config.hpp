// SPDX-License-Identifier: Apache-2.0
#pragma once

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
/// nodes.
///
/// It is read as the type that the shared_ptr had when it was stored, without const. A base class
/// of that type does not match.
class run_context {
public:
  run_context() noexcept = default;
  run_context(std::nullptr_t) noexcept {}
  template <class T>
    requires(!std::is_void_v<T>)
  run_context(std::shared_ptr<T> object) noexcept
      : object_{std::move(object)},
        type_{object_ != nullptr ? &typeid(std::remove_cv_t<T>) : nullptr} {}

  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Whether the context is an object of this type.
  template <class T>
  [[nodiscard]] bool holds() const noexcept {
    return type_ != nullptr && *type_ == typeid(T);
  }
  /// The object, or null if there is none. Throws wrong_type if it is of another type.
  template <class T>
  [[nodiscard]] const T* get() const {
    if (object_ != nullptr && !holds<T>())
      detail::throw_wrong_type("the context of the run", type_, typeid(T));
    return static_cast<const T*>(object_.get());
  }
  /// The object, or null if there is none of this type.
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> share_if() const noexcept {
    return holds<T>() ? std::static_pointer_cast<const T>(object_) : nullptr;
  }
  /// The object, or null if there is none of this type.
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
  async, ///< in order, while the next step runs
  sync,  ///< before the next step starts
  exit,  ///< a single one, when the run ends
};

/// Options of a run on a thread, beyond the thread's name.
struct thread_options {
  std::string checkpoint_id{}; ///< checkpoint to start from; empty: the newest
  /// The namespace of a subgraph, for get_state() and update_state(); empty: the outermost graph.
  std::string checkpoint_ns{};
  superstep::durability durability = superstep::durability::async;
  /// Whether to wait or to fail if another run has the thread.
  busy_policy on_busy = busy_policy::wait;
  /// Nodes before or after which the run is interrupted, instead of those of compile(). `*` names
  /// all.
  std::optional<std::vector<std::string>> interrupt_before{};
  std::optional<std::vector<std::string>> interrupt_after{};
  /// The checkpointer, long-term memory and cache of the run; those of the graph unless set.
  /// Subgraphs inherit them.
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
  std::shared_ptr<write_cache> cache{};
};

/// The default limit of the super-steps of a run, as in LangGraph 1.2.22 (`recursion_limit`).
inline constexpr std::uint32_t default_recursion_limit = 25;

/// The options of one run. Read-only while it runs, and the same for all its nodes.
struct run_config {
  /// Names the run in errors and events, and seeds ids. Empty: the engine numbers it.
  std::string run_id{};
  std::string thread_id{}; ///< the conversation that the run belongs to; empty: none
  std::uint32_t recursion_limit = default_recursion_limit; ///< super-steps before the run fails
  std::optional<std::uint32_t> max_concurrency{}; ///< tasks of the run at once; unset: no limit
  /// The longest time that the whole run may take, from its start. Not set: no limit.
  std::optional<std::chrono::milliseconds> deadline{};
  std::vector<std::string> tags{};
  json::object metadata{};
  json::object configurable{};
  optional_box<thread_options> thread{};
  run_context context{}; ///< read by bodies with runtime::context<T>()
};

} // namespace superstep
