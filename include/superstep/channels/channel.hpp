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

/// The reasons why the writes of a super-step cannot be applied to a channel.
enum class channel_errc {
  invalid_update = 1, ///< several values, or several overwrites, where one is allowed
  reducer_failed,     ///< the reducer, or another operation of the value's type, threw
};
/// Returns the code in the error category `channel`. May be called from any thread.
[[nodiscard]] std::error_code make_error_code(channel_errc) noexcept;

/// A write to a channel. It is applied at the barrier of its super-step.
struct write {
  std::uint32_t channel = 0; ///< number of the channel in its graph
  bool overwrite = false;    ///< replaces the value of a channel without calling its reducer
  value content;             ///< the value that is written
};

/// The writes of a task, or of the input of a run.
using write_list = std::vector<write, cache_line_allocator<write>>;

/// The values of all channels of a run. Shared and immutable while nodes run; changed only at the
/// barrier, by the run's lane. If other references exist then, for example those of a snapshot, the
/// lane changes a clone instead.
class state_block : public on_cache_lines,
                    public boost::intrusive_ref_counter<state_block, boost::thread_safe_counter> {
public:
  virtual ~state_block() = default;
  /// Returns a state with the same values. It may share them until one of the two states changes
  /// them. Throws what copying a value throws.
  [[nodiscard]] virtual boost::intrusive_ptr<state_block> clone() const = 0;
  /// Whether clones share values, so that the first change of a value copies it and may throw.
  [[nodiscard]] virtual bool shares_values() const noexcept { return false; }

protected:
  state_block() = default;
  state_block(const state_block&) = default;
};

/// A reference to a state that its owner may change.
using state_ptr = boost::intrusive_ptr<state_block>;
/// A reference to a state for reading. Keeps the state alive.
using state_view = boost::intrusive_ptr<const state_block>;

/// Whether an update changed the value of a channel.
enum class changed : std::uint8_t { no, yes };

/// A channel: the rule by which the writes of one super-step are combined with a value of the
/// state. The value itself is in a state_block. The kinds in kinds.hpp follow langgraph/channels/
/// in LangGraph 1.2.22; derive from this class for a new kind.
///
/// @par Threads
/// A channel is immutable and shared by all runs of a graph: its members may be called from any
/// thread. Members that take a `state_block&` need exclusive access to that block.
class channel {
public:
  /// Creates a channel.
  /// @param name unique in the graph
  /// @param is_undone see is_undone()
  explicit channel(std::string name, bool is_undone = false)
      : name_{std::move(name)}, is_undone_{is_undone} {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  virtual ~channel();

  /// Returns the name. Valid as long as the channel.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The value of a channel before an update, kept so that it can be restored.
  class kept_value {
  public:
    kept_value() = default;
    kept_value(const kept_value&) = delete;
    kept_value& operator=(const kept_value&) = delete;
    virtual ~kept_value();
    /// Moves the old value back into the state. Called at most once.
    virtual void restore(state_block&) noexcept = 0;
  };

  /// Whether update() may fail with these writes, other than by a lack of memory. If so, the
  /// barrier prepares to undo the updates of the step's other channels. True by default.
  [[nodiscard]] virtual bool may_fail(std::span<write* const>) const noexcept { return true; }
  /// Whether a failed update() leaves the value unchanged, and keep() returns the old value. If
  /// not, the barrier updates a copy of the whole state.
  [[nodiscard]] bool is_undone() const noexcept { return is_undone_; }
  /// Returns a copy of the current value, which the barrier restores if the update of another
  /// channel fails. Throws what copying the value throws. @pre is_undone()
  [[nodiscard]] virtual std::unique_ptr<kept_value> keep(const state_block&) const;
  /// Copies the value if other states share it, so that changing it in this state cannot fail by a
  /// lack of memory for the copy. Does nothing by default. Throws what copying the value throws.
  virtual void own_value(state_block&) const {}
  /// Applies the writes of one step to the channel. The writes are in task order, and are consumed
  /// even if the update fails. Returns an error if the writes do not fit the channel or a reducer
  /// throws: a channel_errc, or errc::shortage if memory is lacking. May throw what operations of
  /// the value's type throw. If is_undone(), the value is unchanged after an error or exception.
  /// @returns whether the value was changed
  [[nodiscard]] virtual result<changed> update(state_block&, std::span<write* const>,
                                               id_source&) const = 0;
  /// Applies writes that arrive after update() in the same step, such as those of other actors.
  /// Otherwise like update(), which it calls by default.
  [[nodiscard]] virtual result<changed> extend(state_block& state, std::span<write* const> writes,
                                               id_source& ids) const {
    return update(state, writes, ids);
  }
  /// Called at the end of each step that did not write the channel, if wants_empty_update() is
  /// true. Returns whether the value was changed.
  [[nodiscard]] virtual changed update_empty(state_block&) const { return changed::no; }
  /// Whether update_empty() is called in steps that do not write the channel. False by default.
  [[nodiscard]] virtual bool wants_empty_update() const noexcept { return false; }
  /// Whether update_empty() may throw. If so, each step of the graph changes a copy of the state.
  /// True by default.
  [[nodiscard]] virtual bool may_fail_to_empty() const noexcept { return true; }
  /// Whether the channel holds a value.
  [[nodiscard]] virtual bool is_available(const state_block&) const noexcept = 0;
  /// Empties a channel whose value is not saved, in a state that is saved or resumed. Does nothing
  /// by default.
  virtual void drop_unkept(state_block&) const {}

  // The members below define the checkpoint form of the channel. By default, the value is not
  // saved.

  /// Whether checkpoints contain the value. False by default.
  [[nodiscard]] virtual bool is_kept() const noexcept { return false; }
  /// Returns the checkpoint form of the channel's writes, for records of tasks; null if they cannot
  /// be stored. Lives until the program ends.
  [[nodiscard]] virtual const value_form* written_form() const noexcept { return nullptr; }
  /// Returns the type name of the value in checkpoints; empty if the value cannot be stored.
  [[nodiscard]] virtual std::string stored_type() const { return {}; }
  /// Returns the C++ type name of the value, for error texts. Empty by default.
  [[nodiscard]] virtual std::string value_type_name() const { return {}; }
  /// Appends the change of the value since an earlier state, as checkpoints store it; if `before`
  /// is null, the whole value. Returns false and appends nothing if the value is unchanged or has
  /// no stored form. Throws what writing the value throws.
  virtual bool write_change(std::string&, const state_block* /*before*/,
                            const state_block& /*now*/) const {
    return false;
  }
  /// Sets the value to one that was read from a checkpoint; std::nullopt means that the channel was
  /// empty. Returns an error if the value does not fit the type.
  [[nodiscard]] virtual result<void> read_kept(state_block&,
                                               const std::optional<json::value>&) const {
    return {};
  }

protected:
  /// Returns the error for several writes in one step to a channel without a reducer.
  [[nodiscard]] error one_value_only() const;
  /// Whether more than one of the writes is an overwrite.
  [[nodiscard]] static bool has_two_overwrites(std::span<write* const>) noexcept;
  /// Returns the error for several overwrites in one step.
  [[nodiscard]] error one_overwrite_only() const;
  /// Returns the error for several writes in one step to a guarded channel.
  /// @param kind `ephemeral` or `untracked`
  [[nodiscard]] error guarded_value_only(std::string_view kind) const;

private:
  std::string name_;
  bool is_undone_;
};

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::channel_errc> : std::true_type {};
