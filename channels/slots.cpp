// SPDX-License-Identifier: Apache-2.0
// The state of graphs without a state struct (json_graph, channel_graph): one slot for each
// channel.
#include <superstep/channels/detail/slots.hpp>

namespace superstep {

state_ptr slot_block::clone() const {
  auto shared = boost::intrusive_ptr<slot_block>{new slot_block{owner_}};
  shared->slots_ = slots_;
  return shared;
}

state_ptr slot_block::copy() const {
  auto own = boost::intrusive_ptr<slot_block>{new slot_block{owner_}};
  for (const auto& s : slots_)
    own->slots_.push_back(slot_ptr{s->clone().release()});
  return own;
}

std::size_t slot_block::add(std::unique_ptr<slot> s) {
  slots_.push_back(slot_ptr{s.release()});
  return slots_.size() - 1;
}

/// Replaces a shared slot by a copy of it, which only this block can read.
slot_block::slot& slot_block::own_copy(std::size_t i) {
  slots_.replace(i, slot_ptr{slots_[i]->clone().release()});
  SUPERSTEP_ASSERT(slots_.is_sole_reader(i) && slots_[i]->use_count() == 1);
  return *slots_[i];
}

} // namespace superstep
