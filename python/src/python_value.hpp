// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "objects.hpp"

#include <superstep/channels/channel.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace superstep::python {

class python_value;
using value_ref = boost::intrusive_ptr<python_value>;

/// A reducer of a graph: a Python function of the old and the new value.
struct python_reducer {
  shared_object function;
  std::string channel; ///< name of its channel, for errors
};

/// Calls a reducer. Throws reducer_failure for its exception. Needs the GIL.
[[nodiscard]] nb::object call_reducer(const python_reducer& by, nb::handle old, nb::handle written);

/// A value of a channel: a Python object, its JSON form, or writes that a reducer has yet to
/// combine.
///
/// Nodes get the object itself, without a conversion. The engine's threads only pass references on.
/// They cannot call a reducer, because they do not wait for the GIL. So the barrier stores the
/// writes, and the next thread with the GIL that reads the value combines them. The result is the
/// same, because the order of the writes is fixed. In the common case, a single write in a step,
/// the thread that executed the node has called the reducer already.
/// @par Threads
/// The object is used by threads with the GIL only. The JSON form never changes once it is set.
class python_value final
    : public boost::intrusive_ref_counter<python_value, boost::thread_safe_counter> {
public:
  /// Makes a value of an object. The caller holds the GIL.
  /// @param stored its JSON form, if the graph saves its values
  explicit python_value(nb::handle object, std::optional<json::value> stored = {});
  /// Makes a value that was read from a checkpoint.
  explicit python_value(json::value stored) : stored_{std::move(stored)} {}
  /// Makes the value of a channel whose reducer has yet to combine writes with an older value.
  python_value(value_ref base, std::vector<value_ref> writes, std::shared_ptr<python_reducer> by);
  ~python_value();

  /// Returns the object; calls the reducer if necessary. Needs the GIL. Throws reducer_failure if
  /// the reducer raises an exception.
  [[nodiscard]] nb::object get();
  /// Returns the JSON form: the stored one, or else a new one of the object, for which it waits for
  /// the GIL. Throws checkpoint_error{not_storable} with the type of a value that has none.
  /// @param key of the state that holds the value, for this error; empty if it is not known
  [[nodiscard]] json::value to_json(const std::string& key = {});
  /// Returns the JSON form if it is stored; else null.
  [[nodiscard]] const json::value* stored() const noexcept { return stored_ ? &*stored_ : nullptr; }
  /// Makes get() return a new copy of a list, dict or set at each call. For initial values, which
  /// all runs share. Needs the GIL.
  void set_copied() noexcept { is_copied_ = true; }
  /// Returns the value of a channel after further writes.
  [[nodiscard]] static value_ref with_writes(const value_ref& base, std::vector<value_ref> writes,
                                             const std::shared_ptr<python_reducer>& by);

private:
  void combine();

  PyObject* object_ = nullptr;
  std::optional<json::value> stored_;
  bool is_copied_ = false;
  // The writes that the reducer has yet to combine with `base_`; dropped when it has. `base_` has
  // no writes of the same reducer itself, so that no chain of values becomes long.
  std::mutex mutex_; // protects base_ and writes_
  value_ref base_;
  std::vector<value_ref> writes_;
  std::shared_ptr<python_reducer> reducer_;
};

/// A write to a channel: the content of superstep::write.
struct value_write {
  value_ref content; ///< what the node has returned
  /// The result of the channel's reducer for `content` and the value `base`; null if the reducer
  /// was not called yet. Valid only while the channel holds `base`.
  value_ref combined{};
  value_ref base{};
};

/// The rules by which the writes of a step are combined with the value of a channel.
enum class value_rule : std::uint8_t { last, reduce };

/// Makes a channel of a Python graph. Its slot holds a value_ref, null if it is empty.
/// @param reducer for value_rule::reduce
[[nodiscard]] std::unique_ptr<const channel>
make_value_channel(std::string name, std::uint32_t slot, value_rule rule,
                   std::shared_ptr<python_reducer> reducer);

/// Returns the checkpoint form of the inputs of Sends, which are value_ref.
[[nodiscard]] const value_form* sent_form() noexcept;

} // namespace superstep::python
