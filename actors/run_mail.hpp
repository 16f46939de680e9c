// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pooled_actor.hpp"

#include <superstep/base/await.hpp>
#include <superstep/channels/channel.hpp>

#include <boost/unordered/unordered_flat_map.hpp>
#include <caf/mailbox_element.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

namespace superstep {

struct run;

/// Passes a message to the run of a coordinator, if it is a message that runs handle; see
/// coordinator() in <superstep/actors/caf.hpp>. Returns false and leaves the message if it is not.
/// Called by the thread that handles the messages of the actor.
[[nodiscard]] bool pass_to_run(const actor_assignment& to, caf::mailbox_element_ptr& message);

/// The writes that other actors have sent to the runs of a lane, and the bodies that wait for such
/// writes. Used by the lane's own thread.
class run_mail {
public:
  /// Whether no run has writes or waiting bodies.
  [[nodiscard]] bool is_empty() const noexcept { return pending_.empty(); }
  /// Adds the write of a message and wakes the bodies that wait for it. Answers an invalid message
  /// with an error, and one whose value throws when it is read.
  void add(run& r, caf::mailbox_element_ptr message) noexcept;
  /// Passes the next write to a channel to `done`, or an error.
  void await(run& r, std::string_view channel, const completer<result<value>>& done) noexcept;
  /// Applies the writes that have arrived for a run, and answers their messages. Called after the
  /// outputs of the step were applied. A write that fails does not affect the others.
  void apply(run& r) noexcept;
  /// Answers the messages of a run that ends.
  void drop(const run& r) noexcept;

private:
  struct received_write {
    write content;
    caf::mailbox_element_ptr message;
  };
  /// The bodies that wait for writes to a channel, and the writes that no body has received.
  struct channel_box {
    std::vector<completer<result<value>>> waiters;
    std::size_t sweep_at = 16;        ///< number of waiters at which abandoned ones are removed
    std::deque<std::size_t> unread{}; ///< indices in box::writes
  };
  struct box {
    std::vector<received_write> writes;
    boost::unordered_flat_map<std::uint32_t, channel_box> channels; // by number
  };

  void put_in_box(run& r, caf::mailbox_element_ptr& message);
  [[nodiscard]] static result<void> apply_writes(run& r,
                                                 std::span<const received_write> from) noexcept;

  boost::unordered_flat_map<std::uint64_t, box> pending_; // by the number of the run
};

} // namespace superstep
