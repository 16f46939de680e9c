// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/channels/channel.hpp>
#include <superstep/channels/rules.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace superstep {

// The kinds of user channels, over any place that holds their value: a field of a described struct
// or a slot of a block of slots. `Place` is a small copyable object with
//   T& of(state_block&), const T& of(const state_block&), using value_type = T
// and, where a value may be absent, `T` is std::optional<V> (then the kind reads and writes V).

namespace detail {

template <class T>
struct holder {
  static bool has(const T&) noexcept { return true; }
};
template <class T>
struct holder<std::optional<T>> {
  static bool has(const std::optional<T>& t) noexcept { return t.has_value(); }
};

/// What all kinds share: the place of the value, and how a checkpoint keeps it. `Written` is what
/// is written to the channel; a place that may be absent holds std::optional of what is kept.
template <class Place, class Written>
class placed_channel : public channel {
public:
  placed_channel(std::string name, Place place) : channel{std::move(name)}, place_{place} {}

  bool is_kept() const noexcept override { return true; }
  const value_form* written_form() const noexcept override { return form_of<Written>(); }
  std::string stored_type() const override {
    if constexpr (storable<kept_type>)
      return superstep::stored_type<kept_type>();
    else
      return {};
  }
  std::string value_type_name() const override { return type_name(typeid(kept_type)); }
  bool write_change([[maybe_unused]] std::string& out, [[maybe_unused]] const state_block* before,
                    [[maybe_unused]] const state_block& now) const override {
    if constexpr (storable<kept_type>) {
      const auto* const is = kept(place_.of(now));
      const auto* const was = before != nullptr ? kept(place_.of(*before)) : nullptr;
      if (is != nullptr && was != nullptr)
        return detail::write_change(out, *was, *is);
      if (is != nullptr) {
        write_whole(out, *is);
        return true;
      }
      if (before != nullptr && was == nullptr)
        return false;
      out += "[]";
      return true;
    } else {
      return false;
    }
  }
  result<void> read_kept([[maybe_unused]] state_block& into,
                         [[maybe_unused]] const std::optional<json::value>& from) const override {
    if constexpr (storable<kept_type>) {
      auto& held = place_.of(into);
      if constexpr (may_be_absent) {
        if (!from) {
          held.reset();
          return {};
        }
        return read_stored(*from, held.emplace(), "value");
      } else if (from) {
        return read_stored(*from, held, "value");
      }
    }
    return {};
  }

protected:
  using held_type = typename Place::value_type;
  static constexpr bool may_be_absent = std::is_same_v<held_type, std::optional<Written>>;
  using kept_type = std::conditional_t<may_be_absent, Written, held_type>;

  static const kept_type* kept(const held_type& held) noexcept {
    if constexpr (may_be_absent)
      return held ? &*held : nullptr;
    else
      return &held;
  }

  Place place_;
};

} // namespace detail

/// Two writes in one step are refused: without a reducer the node that happened to finish last
/// would decide, and a step must not depend on timing.
template <class Place, class Value>
class last_value final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  using base::base;

  bool may_fail(std::size_t writes) const noexcept override { return writes > 1; }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    if (writes.size() > 1)
      return this->one_value_only();
    if (writes.empty())
      return changed::no;
    place_.of(state) = writes.front()->content.template take<Value>();
    return changed::yes;
  }
  bool is_available(const state_block& state) const noexcept override {
    return detail::holder<typename Place::value_type>::has(place_.of(state));
  }
};

/// The same, but for what is not worth keeping: savers leave it out. Without a guard several writes
/// in one step are allowed and the last one, in task order, stays.
template <class Place, class Value>
class untracked_value final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  untracked_value(std::string name, Place place, bool guard = true)
      : base{std::move(name), place}, guard_{guard} {}

  bool may_fail(std::size_t writes) const noexcept override { return guard_ && writes > 1; }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    if (guard_ && writes.size() > 1)
      return this->guarded_value_only("UntrackedValue");
    if (writes.empty())
      return changed::no;
    place_.of(state) = writes.back()->content.template take<Value>();
    return changed::yes;
  }
  bool is_available(const state_block& state) const noexcept override {
    return detail::holder<typename Place::value_type>::has(place_.of(state));
  }
  bool is_kept() const noexcept override { return false; }
  void drop_unkept(state_block& state) const override {
    place_.of(state) = typename Place::value_type{};
  }

private:
  bool guard_;
};

/// Folds all writes of a step, in task order, into its value. Where the place may be absent it
/// starts so, and the first write ever is kept as it is.
/// An overwrite replaces the value: writes before it are lost, those after it are skipped.
template <class Place, class Value, reducer_for<Value> Fn>
class binary_operator_aggregate final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  binary_operator_aggregate(std::string name, Place place, Fn fn = {})
      : base{std::move(name), place}, fn_{std::move(fn)} {}

  /// A fold that cannot throw fails only for two overwrites.
  bool may_fail(std::size_t writes) const noexcept override {
    return writes > 1 || !folds_nothrow<Fn, Value>;
  }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source& ids) const override {
    if (writes.empty())
      return changed::no;
    auto* overwrite = static_cast<write*>(nullptr);
    for (auto* w : writes) {
      if (w->overwrite && std::exchange(overwrite, w) != nullptr)
        return this->one_overwrite_only();
    }
    auto& held = place_.of(state);
    try {
      if (overwrite) {
        held = overwrite->content.template take<Value>();
        return changed::yes;
      }
      if constexpr (may_be_absent) {
        if (!held) {
          held = writes.front()->content.template take<Value>();
          writes = writes.subspan(1);
        }
      }
      for (auto* w : writes)
        fold(fn_, value_of(held), w->content.template take<Value>(), ids);
    } catch (const std::exception& e) { // a reducer is user code
      return error{channel_errc::reducer_failed,
                   "the reducer of '" + this->name() + "' failed: " + e.what()};
    }
    return changed::yes;
  }
  bool is_available([[maybe_unused]] const state_block& state) const noexcept override {
    if constexpr (may_be_absent)
      return place_.of(state).has_value();
    else
      return true;
  }

private:
  using base::may_be_absent;
  static Value& value_of(typename Place::value_type& held) noexcept {
    if constexpr (may_be_absent)
      return *held;
    else
      return held;
  }

  Fn fn_;
};

/// Lives exactly one step. With a guard two writes in one step are refused, else the last one wins.
template <class Place, class Value>
class ephemeral_value final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  ephemeral_value(std::string name, Place place, bool guard = true)
      : base{std::move(name), place}, guard_{guard} {}

  bool may_fail(std::size_t writes) const noexcept override { return guard_ && writes > 1; }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    if (writes.empty())
      return update_empty(state);
    if (guard_ && writes.size() > 1)
      return this->guarded_value_only("EphemeralValue");
    place_.of(state) = writes.back()->content.template take<Value>();
    return changed::yes;
  }
  changed update_empty(state_block& state) const override {
    if (!is_available(state))
      return changed::no;
    place_.of(state) = typename Place::value_type{};
    return changed::yes;
  }
  bool wants_empty_update() const noexcept override { return true; }
  /// A place that cannot be absent counts as empty when it holds what it starts with: otherwise
  /// every step would be said to have changed it.
  bool is_available(const state_block& state) const noexcept override {
    using held = typename Place::value_type;
    if constexpr (detail::is_comparable<held>())
      return !(place_.of(state) == held{});
    else if constexpr (storable<held>)
      return !detail::same_value(place_.of(state), held{});
    else
      return detail::holder<held>::has(place_.of(state));
  }

private:
  bool guard_;
};

namespace detail {

/// What is written to a topic, and the items in it: here a list of them.
template <class Item>
struct listed_items {
  using written = std::vector<Item>;
  written operator()(written&& items) const { return std::move(items); }
};

} // namespace detail

/// Collects the items written in one step (or, accumulating, in all steps), in task order.
/// A write is a list of items, or what `Items` makes one.
template <class Place, class Item, class Items = detail::listed_items<Item>>
class topic final : public detail::placed_channel<Place, typename Items::written> {
  using base = detail::placed_channel<Place, typename Items::written>;
  using base::place_;

public:
  topic(std::string name, Place place, bool accumulate = false)
      : base{std::move(name), place}, accumulate_{accumulate} {}

  bool may_fail(std::size_t) const noexcept override { return false; }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    auto& items = place_.of(state);
    const auto before = items.size();
    if (!accumulate_)
      items.clear();
    for (auto* w : writes) {
      for (auto& item : Items{}(w->content.template take<typename Items::written>()))
        items.push_back(std::move(item));
    }
    return before != 0 || !items.empty() ? changed::yes : changed::no;
  }
  changed update_empty(state_block& state) const override {
    if (accumulate_ || !is_available(state))
      return changed::no;
    place_.of(state).clear();
    return changed::yes;
  }
  bool wants_empty_update() const noexcept override { return !accumulate_; }
  bool is_available(const state_block& state) const noexcept override {
    return !place_.of(state).empty();
  }

private:
  bool accumulate_;
};

} // namespace superstep
