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

/// What can be wrong with the writes of a super-step.
enum class channel_errc {
  invalid_update = 1, ///< more than one value, or two overwrites, where one is allowed
  reducer_failed,     ///< the reducer of a channel threw
};
[[nodiscard]] std::error_code make_error_code(channel_errc) noexcept;

/// One value on its way to a channel: applied at the barrier, never before.
struct write {
  std::uint32_t channel = 0;
  bool overwrite = false; ///< replaces the value of a reducing channel instead of folding into it
  value content;
};

/// Writes on their way into a run.
using write_list = std::vector<write, cache_line_allocator<write>>;

/// The values of all channels of a run, shared and immutable while nodes compute.
/// The coordinator alone changes it, at the barrier, and clones it first when somebody (a snapshot,
/// an abandoned body) still holds it.
class state_block : public on_cache_lines,
                    public boost::intrusive_ref_counter<state_block, boost::thread_safe_counter> {
public:
  virtual ~state_block() = default;
  [[nodiscard]] virtual boost::intrusive_ptr<state_block> clone() const = 0;

protected:
  state_block() = default;
  state_block(const state_block&) = default;
};

using state_ptr = boost::intrusive_ptr<state_block>;
using state_view = boost::intrusive_ptr<const state_block>;

enum class changed : std::uint8_t { no, yes };

/// How one channel combines the writes of one super-step into the state. Immutable, shared by all
/// runs of a graph; the value itself lies in the state_block.
/// The rules of each kind are those of the reference (LangGraph channels).
class channel {
public:
  explicit channel(std::string name, bool is_undone = false)
      : name_{std::move(name)}, is_undone_{is_undone} {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  virtual ~channel();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// A value as it was before an update.
  class kept_value {
  public:
    kept_value() = default;
    kept_value(const kept_value&) = delete;
    kept_value& operator=(const kept_value&) = delete;
    virtual ~kept_value();
    virtual void restore(state_block&) noexcept = 0;
  };

  /// Whether update() may fail with these writes. The barrier then makes sure that it can undo what
  /// other channels of the step have done. Memory that runs out is not meant.
  [[nodiscard]] virtual bool may_fail(std::span<write* const>) const noexcept { return true; }
  /// Whether an update that fails leaves the value as it was, and keep() keeps it. If not, the
  /// barrier works on a copy of the state.
  [[nodiscard]] bool is_undone() const noexcept { return is_undone_; }
  /// For the case that the update of another channel fails. @pre is_undone()
  [[nodiscard]] virtual std::unique_ptr<kept_value> keep(const state_block&) const;
  /// Applies the writes of one step, given in task order. An error or an exception leaves the value
  /// as it was if is_undone(), and uses up the writes.
  [[nodiscard]] virtual result<changed> update(state_block&, std::span<write* const>,
                                               id_source&) const = 0;
  /// Called at the end of each step that did not write the channel, when wants_empty_update().
  [[nodiscard]] virtual changed update_empty(state_block&) const { return changed::no; }
  [[nodiscard]] virtual bool wants_empty_update() const noexcept { return false; }
  /// Whether update_empty() may throw. If so, each step of the graph works on a copy of the state.
  [[nodiscard]] virtual bool may_fail_to_empty() const noexcept { return true; }
  [[nodiscard]] virtual bool is_available(const state_block&) const noexcept = 0;
  /// A channel whose value no checkpoint keeps empties it when a thread goes on.
  virtual void drop_unkept(state_block&) const {}

  // What checkpoints keep of it. A kind that does not say how is not kept.

  /// False: no checkpoint has its value.
  [[nodiscard]] virtual bool is_kept() const noexcept { return false; }
  /// How its writes are kept, and what its type is called; null: they cannot be.
  [[nodiscard]] virtual const value_form* written_form() const noexcept { return nullptr; }
  /// What the type of its value is called in checkpoints; empty: it cannot be written.
  [[nodiscard]] virtual std::string stored_type() const { return {}; }
  /// The C++ name of the type of its value, for the texts of errors; empty: it has no value.
  [[nodiscard]] virtual std::string value_type_name() const { return {}; }
  /// Appends how the value differs from an earlier one, or all of it when that is null. False: not
  /// at all; nothing is appended then.
  virtual bool write_change(std::string&, const state_block* /*before*/,
                            const state_block& /*now*/) const {
    return false;
  }
  /// Takes a value that was kept; nothing: it was empty.
  [[nodiscard]] virtual result<void> read_kept(state_block&,
                                               const std::optional<json::value>&) const {
    return {};
  }

protected:
  /// Two values in one step for a channel that takes one (the reference's text).
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
