// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/detail/cache_lines.hpp>
#include <superstep/base/error.hpp>
#include <superstep/channels/detail/stored_value.hpp>
#include <superstep/channels/detail/value.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The errors of the writes of a super-step.
enum class channel_errc {
  invalid_update = 1, ///< more than one value, or two overwrites, where one is allowed
  reducer_failed,     ///< the reducer of a channel threw
};
/// Returns the code in the category `channel`.
[[nodiscard]] std::error_code make_error_code(channel_errc) noexcept;

/// A write to a channel. It is applied at the barrier, never before.
struct write {
  std::uint32_t channel = 0;
  bool overwrite = false; ///< replaces the value of a reducing channel instead of folding into it
  value content;
};

/// The writes of a run's input or of a task.
using write_list = std::vector<write, cache_line_allocator<write>>;

/// The values of all channels of a run, shared and immutable while nodes compute. Only the
/// coordinator changes it, at the barrier. If a snapshot or a discarded body still holds it, the
/// coordinator changes a clone.
class state_block : public on_cache_lines,
                    public boost::intrusive_ref_counter<state_block, boost::thread_safe_counter> {
public:
  virtual ~state_block() = default;
  /// Returns a copy of all values.
  [[nodiscard]] virtual boost::intrusive_ptr<state_block> clone() const = 0;

protected:
  state_block() = default;
  state_block(const state_block&) = default;
};

using state_ptr = boost::intrusive_ptr<state_block>;
using state_view = boost::intrusive_ptr<const state_block>;

/// Whether an update changed the value of a channel.
enum class changed : std::uint8_t { no, yes };

/// A channel: the rule by which the writes of one super-step are combined into the state. Immutable
/// and shared by all runs of a graph; its value is in the state_block. The rules of each kind are
/// those of langgraph/channels/ in LangGraph 1.2.22.
class channel {
public:
  explicit channel(std::string name, bool is_undone = false)
      : name_{std::move(name)}, is_undone_{is_undone} {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  virtual ~channel();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The value of a channel before an update, for restoring it.
  class kept_value {
  public:
    kept_value() = default;
    kept_value(const kept_value&) = delete;
    kept_value& operator=(const kept_value&) = delete;
    virtual ~kept_value();
    virtual void restore(state_block&) noexcept = 0;
  };

  /// Whether update() may fail with these writes. If so, the barrier prepares to undo the updates
  /// of the step's other channels. Running out of memory is not considered.
  [[nodiscard]] virtual bool may_fail(std::span<write* const>) const noexcept { return true; }
  /// Whether a failed update leaves the value as it was, and keep() returns the old value. If not,
  /// the barrier works on a copy of the state.
  [[nodiscard]] bool is_undone() const noexcept { return is_undone_; }
  /// Returns the current value, to be restored if the update of another channel fails. @pre
  /// is_undone()
  [[nodiscard]] virtual std::unique_ptr<kept_value> keep(const state_block&) const;
  /// Applies the writes of one step, given in task order. The writes are consumed, even if it
  /// fails. If is_undone(), an error or exception leaves the value as it was.
  [[nodiscard]] virtual result<changed> update(state_block&, std::span<write* const>,
                                               id_source&) const = 0;
  /// Called at the end of each step that did not write the channel, if wants_empty_update().
  [[nodiscard]] virtual changed update_empty(state_block&) const { return changed::no; }
  /// Whether steps that do not write the channel call update_empty().
  [[nodiscard]] virtual bool wants_empty_update() const noexcept { return false; }
  /// Whether update_empty() may throw. If so, each step of the graph works on a copy of the state.
  [[nodiscard]] virtual bool may_fail_to_empty() const noexcept { return true; }
  /// Whether the channel holds a value.
  [[nodiscard]] virtual bool is_available(const state_block&) const noexcept = 0;
  /// Empties the channel when a thread is resumed, if checkpoints do not contain its value.
  virtual void drop_unkept(state_block&) const {}

  // The checkpoint form of the channel. By default, the value is not saved.

  /// Whether checkpoints contain the value.
  [[nodiscard]] virtual bool is_kept() const noexcept { return false; }
  /// The checkpoint form and the type name of the channel's writes; null if they cannot be stored.
  [[nodiscard]] virtual const value_form* written_form() const noexcept { return nullptr; }
  /// The type name of the value in checkpoints; empty if it cannot be stored.
  [[nodiscard]] virtual std::string stored_type() const { return {}; }
  /// The C++ type name of the value, for error texts; empty if it has no value.
  [[nodiscard]] virtual std::string value_type_name() const { return {}; }
  /// Appends the difference between the value and an earlier one, or the whole value if `before` is
  /// null. Returns false and appends nothing if they are equal.
  virtual bool write_change(std::string&, const state_block* /*before*/,
                            const state_block& /*now*/) const {
    return false;
  }
  /// Restores a value from a checkpoint; nothing: the channel was empty.
  [[nodiscard]] virtual result<void> read_kept(state_block&,
                                               const std::optional<json::value>&) const {
    return {};
  }

protected:
  /// The error of two values in one step for a channel that accepts one.
  [[nodiscard]] error one_value_only() const;
  [[nodiscard]] error one_overwrite_only() const;
  [[nodiscard]] error guarded_value_only(std::string_view kind) const;

private:
  std::string name_;
  bool is_undone_;
};

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::channel_errc> : std::true_type {};
