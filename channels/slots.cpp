// SPDX-License-Identifier: Apache-2.0
// The state of graphs without a state struct (json_graph, channel_graph): one slot for each
// channel.
#include <superstep/channels/detail/slots.hpp>

namespace superstep {

state_ptr slot_block::clone() const {
  auto copy = boost::intrusive_ptr<slot_block>{new slot_block{owner_}};
  copy->slots_.reserve(slots_.size());
  for (const auto& s : slots_)
    copy->slots_.push_back(s->clone());
  return copy;
}

std::size_t slot_block::add(std::unique_ptr<slot> s) {
  slots_.push_back(std::move(s));
  return slots_.size() - 1;
}

} // namespace superstep
