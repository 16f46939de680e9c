// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

class lane;

/// A request from another thread to a lane. Its storage is either part of the object that it
/// concerns, or is deleted in arrive() and refuse(). A message is in at most one inbox at a time.
class lane_message {
public:
  lane_message* next = nullptr;
  /// Handles the message. Called on the lane, between two bodies.
  virtual void arrive(lane&) = 0;
  /// Called instead of arrive(), on any thread, if the lane is no longer served. Releases the
  /// message's contents and, if its sender waits for an answer, answers it.
  virtual void refuse(lane&) noexcept = 0;

protected:
  lane_message() = default;
  lane_message(const lane_message&) = delete;
  lane_message& operator=(const lane_message&) = delete;
  virtual ~lane_message() = default;
};

} // namespace superstep
