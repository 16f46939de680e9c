// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/make_unique_as.hpp>
#include <superstep/base/detail/shared_list.hpp>
#include <superstep/channels/channel.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <memory>
#include <typeinfo>

namespace superstep {

/// A state of separate slots, one per channel; each slot has its own type. Used by the graph
/// classes without a state struct: channel_graph and json_graph.
///
/// A clone shares its slots with the original. A shared slot is copied when one of the blocks is
/// about to change it, so a clone costs much less than a copy of its values.
class slot_block final : public state_block {
public:
  /// The object of one channel, with its type erased.
  class slot : public boost::intrusive_ref_counter<slot, boost::thread_safe_counter> {
  public:
    virtual ~slot() = default;
    /// Returns a copy of the slot and its object.
    [[nodiscard]] virtual std::unique_ptr<slot> clone() const = 0;
  };
  /// A slot with an object of type T.
  template <class T>
  class slot_of final : public slot {
  public:
    // Initialised with parentheses: braces would turn a JSON value into a list with one item.
    explicit slot_of(T initial) : object(std::move(initial)) {}
    [[nodiscard]] std::unique_ptr<slot> clone() const override {
      return detail::make_unique_as<slot, slot_of>(object);
    }
    T object;
  };

  slot_block() = default;
  /// Creates a block without slots.
  /// @param owner an address that identifies the graph of the block; not dereferenced
  explicit slot_block(const void* owner) noexcept : owner_{owner} {}
  /// Returns the address that identifies the graph of the block; null if it was not set.
  [[nodiscard]] const void* owner() const noexcept { return owner_; }
  /// Returns a block that shares all slots with this one.
  [[nodiscard]] state_ptr clone() const override;
  /// Returns a block with copies of all slots. The states of new runs are made this way, because
  /// runs on several threads would compete for the use counts of shared slots.
  [[nodiscard]] state_ptr copy() const;
  [[nodiscard]] bool shares_values() const noexcept override { return true; }
  /// Adds a slot and returns its index.
  std::size_t add(std::unique_ptr<slot> s);
  /// Returns the number of slots.
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }

  /// Returns the object of a slot, or null if there is no such slot or it has another type.
  template <class T>
  [[nodiscard]] const T* get_if(std::size_t i) const noexcept {
    const auto* found =
        i < slots_.size() ? dynamic_cast<const slot_of<T>*>(slots_[i].get()) : nullptr;
    return found != nullptr ? &found->object : nullptr;
  }
  // The functions at() do not check the index and the type. They are for the channels and bodies of
  // the graph that created the block.

  /// Returns the object of a slot, to be changed. If other blocks share the slot, copies it first,
  /// and throws what copying the object throws.
  template <class T>
  [[nodiscard]] T& at(std::size_t i) {
    return static_cast<slot_of<T>&>(own(i)).object;
  }
  /// Returns the object of a slot.
  template <class T>
  [[nodiscard]] const T& at(std::size_t i) const noexcept {
    return static_cast<const slot_of<T>&>(*slots_[i]).object;
  }

private:
  using slot_ptr = boost::intrusive_ptr<slot>;

  slot& own(std::size_t i) {
    if (slots_.is_sole_reader(i) && slots_[i]->use_count() == 1) [[likely]]
      return *slots_[i];
    return own_copy(i);
  }
  [[nodiscard]] slot& own_copy(std::size_t i);

  // A slot is shared if several blocks share its part of the list, or if several parts contain it.
  shared_list<slot_ptr> slots_;
  const void* owner_ = nullptr;
};

/// The place of a channel in a slot_block; see kinds.hpp.
template <class T>
struct slot_place {
  using value_type = T;
  std::size_t index;
  T& of(state_block& state) const { return static_cast<slot_block&>(state).at<T>(index); }
  const T& of(const state_block& state) const noexcept {
    return static_cast<const slot_block&>(state).at<T>(index);
  }
};

/// A state that is one struct, whose fields are the channels.
template <class State>
class struct_block final : public state_block {
public:
  static_assert(alignof(State) <= 64, "the alignment of a state must not exceed 64 bytes");
  explicit struct_block(State initial = {}) : state{std::move(initial)} {}
  [[nodiscard]] state_ptr clone() const override { return new struct_block{state}; }
  State state;
};

/// Returns the struct in a state; null if `state` is null or contains another type.
template <class State>
[[nodiscard]] const State* state_if(const state_block* state) noexcept {
  return state != nullptr && typeid(*state) == typeid(struct_block<State>)
             ? &static_cast<const struct_block<State>*>(state)->state
             : nullptr;
}

namespace detail {
template <class State, class T>
State struct_of(T State::*);
} // namespace detail

// g++ 12 gives a template external linkage although its argument is a member of a struct in an
// unnamed namespace. The linker then merges the code of different structs with the same name in two
// files. Templates with a member as their argument therefore have the struct as another argument.

/// The place of a channel whose value is a struct member; see kinds.hpp.
template <auto Member, class State = decltype(detail::struct_of(Member))>
struct field_place;
/// The place of a channel whose value is a member of the struct in a struct_block.
template <class State, class T, T State::*Member>
struct field_place<Member, State> {
  using value_type = T;
  T& of(state_block& block) const noexcept {
    return static_cast<struct_block<State>&>(block).state.*Member;
  }
  const T& of(const state_block& block) const noexcept {
    return static_cast<const struct_block<State>&>(block).state.*Member;
  }
};

} // namespace superstep
