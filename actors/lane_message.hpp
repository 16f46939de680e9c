// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

class lane;

/// Something that another thread wants a lane to do. Lives in the object it is about, or frees
/// itself in arrive(). In one inbox at a time.
class lane_message {
public:
  lane_message* next = nullptr;
  /// On the lane, between two bodies.
  virtual void arrive(lane&) = 0;
  /// Called instead when the lane is no longer served, on any thread: releases what the message
  /// carries and answers its sender.
  virtual void refuse(lane&) noexcept = 0;

protected:
  lane_message() = default;
  lane_message(const lane_message&) = delete;
  lane_message& operator=(const lane_message&) = delete;
  virtual ~lane_message() = default;
};

} // namespace superstep
