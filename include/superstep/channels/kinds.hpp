// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/channels/channel.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// A function that combines the values of one channel:
///     void fn(T& into, T&& more)                   in place
///     void fn(T& into, T&& more, id_source& ids)   in place; may give ids to what it adds
///     T    fn(const T& into, const T& more)        returns a new value, like std::plus<>
template <class Fn, class T>
concept reducer_for = std::invocable<const Fn&, T&, T&&, id_source&> ||
                      (std::invocable<const Fn&, T&, T&&> &&
                       (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>> ||
                        std::convertible_to<std::invoke_result_t<const Fn&, T&, T&&>, T>));

/// Folds one value into another with a reducer of any of the three forms.
template <class T, reducer_for<T> Fn>
void fold(const Fn& fn, T& into, T&& more, id_source& ids) {
  if constexpr (std::invocable<const Fn&, T&, T&&, id_source&>)
    fn(into, std::move(more), ids);
  else if constexpr (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
    fn(into, std::move(more));
  else
    into = fn(into, std::move(more));
}

namespace detail {
template <class Fn, class T>
constexpr bool fold_is_nothrow() {
  if constexpr (std::invocable<const Fn&, T&, T&&, id_source&>)
    return std::is_nothrow_invocable_v<const Fn&, T&, T&&, id_source&>;
  else if constexpr (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
    return std::is_nothrow_invocable_v<const Fn&, T&, T&&>;
  else
    return std::is_nothrow_invocable_v<const Fn&, T&, T&&> &&
           std::is_nothrow_assignable_v<T&, std::invoke_result_t<const Fn&, T&, T&&>>;
}

/// Whether the reducer is a function of two values that does not change the first, so that the new
/// value is created separately.
template <class Fn, class T>
constexpr bool fold_makes_new() {
  if constexpr (std::invocable<const Fn&, T&, T&&, id_source&>)
    return false;
  else if constexpr (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
    // no further check: the body of a generic reducer may not compile with a const value
    return false;
  else
    return std::invocable<const Fn&, const T&, T&&>;
}
} // namespace detail

/// Whether folding with the reducer cannot throw.
template <class Fn, class T>
inline constexpr bool folds_nothrow = detail::fold_is_nothrow<Fn, T>();

/// Whether the reducer returns a new value and only reads the old one, like std::plus<>.
template <class Fn, class T>
inline constexpr bool folds_into_new = detail::fold_makes_new<Fn, T>();

/// Whether a reducer that throws leaves the value as it was. A reducer that works in place declares
/// it:
///     static constexpr bool leaves_value_on_failure = true;
/// Otherwise each step that calls the reducer copies the value first, unless the reducer is
/// noexcept.
template <class Fn>
concept leaves_value_on_failure = requires { requires Fn::leaves_value_on_failure; };

// Rules of channels without a reducer, for a state's `reducers` list.

/// Holds the last value written; two writes in one step are an error. The default.
struct last_value_rule {};
/// Holds a value only for the step after it was written.
struct ephemeral_rule {};
/// Holds the last value written in the latest step, in task order. A step without a write empties
/// it.
struct any_value_rule {};
/// Holds the last value written, but is not saved in checkpoints.
struct untracked_rule {};
/// Holds, in a std::vector<T>, the items written in the latest step, in task order. A step without
/// items empties it.
struct topic_rule {};
/// Collects, in a std::vector<T>, the items of all steps.
struct accumulating_topic_rule {};

// The kinds of user channels. Each is a template over the place that holds its value: a field of a
// described struct, or a slot of a slot_block. `Place` is a small copyable object with
//     T& of(state_block&), const T& of(const state_block&), using value_type = T
// If a value may be absent, T is std::optional<V>, and the kind reads and writes V.

namespace detail {

/// Whether a place holds a value: always, unless it is a std::optional.
template <class T>
struct holder {
  static bool has(const T&) noexcept { return true; }
};
template <class T>
struct holder<std::optional<T>> {
  static bool has(const std::optional<T>& t) noexcept { return t.has_value(); }
};

/// The base of all kinds: the place of the value, and its checkpoint form. `Written` is the type
/// that is written to the channel. A place that may be absent holds std::optional of it.
template <class Place, class Written>
class placed_channel : public channel {
public:
  /// @param is_undone by default true if replacing the value cannot throw: updates only assign a
  /// value that was created before
  placed_channel(std::string name, Place place, bool is_undone = is_put_nothrow)
      : channel{std::move(name), is_undone}, place_{place} {}

  std::unique_ptr<channel::kept_value> keep(const state_block& state) const override {
    if constexpr (is_replaced_nothrow)
      return std::make_unique<old_value>(place_, state);
    else
      return nullptr;
  }
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

  static constexpr bool is_replaced_nothrow = std::is_nothrow_move_assignable_v<held_type> ||
                                              std::is_nothrow_move_constructible_v<held_type>;
  static constexpr bool is_put_nothrow =
      is_replaced_nothrow && (std::is_nothrow_assignable_v<held_type&, Written> ||
                              std::is_nothrow_constructible_v<held_type, Written>);

  /// Assigns a value, in a way that cannot throw if the type has one. An assignment that throws may
  /// leave a mixture of both values.
  template <class From>
  static void put(held_type& to, From&& from) {
    if constexpr (!std::is_nothrow_assignable_v<held_type&, From> &&
                  std::is_nothrow_constructible_v<held_type, From>) {
      std::destroy_at(std::addressof(to));
      std::construct_at(std::addressof(to), std::forward<From>(from));
    } else {
      to = std::forward<From>(from);
    }
  }

  static bool may_fail_to_take(std::span<write* const> writes) noexcept {
    return std::ranges::any_of(
        writes, [](const write* w) { return w->content.template may_fail_to_give<Written>(); });
  }
  /// Whether taking the value of a write, or putting it into its place, may throw.
  static bool may_fail_to_put(std::span<write* const> writes) noexcept {
    return !is_put_nothrow || may_fail_to_take(writes);
  }

  static const kept_type* kept(const held_type& held) noexcept {
    if constexpr (may_be_absent)
      return held ? &*held : nullptr;
    else
      return &held;
  }

  Place place_;

private:
  /// A copy of the value, made before an update.
  class old_value final : public channel::kept_value {
  public:
    old_value(Place place, const state_block& state) : place_{place}, old_(place.of(state)) {}
    void restore(state_block& state) noexcept override { put(place_.of(state), std::move(old_)); }

  private:
    Place place_;
    held_type old_;
  };
};

} // namespace detail

/// Holds the last value written. Two writes in one step are an error: otherwise the value would
/// depend on which node finished last, and a step must not depend on timing. `LastValue` in
/// langgraph/channels/last_value.py.
template <class Place, class Value>
class last_value final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  using base::base;

  bool may_fail(std::span<write* const> writes) const noexcept override {
    return writes.size() > 1 || base::may_fail_to_put(writes);
  }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    if (writes.size() > 1)
      return this->one_value_only();
    if (writes.empty())
      return changed::no;
    base::put(place_.of(state), writes.front()->content.template take<Value>());
    return changed::yes;
  }
  bool is_available(const state_block& state) const noexcept override {
    return detail::holder<typename Place::value_type>::has(place_.of(state));
  }
};

/// Holds the last value written, but is not saved in checkpoints. With a guard two writes in one
/// step are an error; otherwise the last one in task order is kept. `UntrackedValue` in
/// langgraph/channels/untracked_value.py.
template <class Place, class Value>
class untracked_value final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  untracked_value(std::string name, Place place, bool guard = true)
      : base{std::move(name), place}, guard_{guard} {}

  bool may_fail(std::span<write* const> writes) const noexcept override {
    return (guard_ && writes.size() > 1) || base::may_fail_to_put(writes.last(1));
  }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    if (guard_ && writes.size() > 1)
      return this->guarded_value_only("untracked");
    if (writes.empty())
      return changed::no;
    base::put(place_.of(state), writes.back()->content.template take<Value>());
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

/// Folds the writes of a step into its value, in task order. A place that may be absent starts
/// empty, and the first write becomes its value unchanged. An overwrite replaces the value: earlier
/// writes of the step are lost, later ones are skipped. `BinaryOperatorAggregate` in
/// langgraph/channels/binop.py.
template <class Place, class Value, reducer_for<Value> Fn>
class binary_operator_aggregate final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  binary_operator_aggregate(std::string name, Place place, Fn fn = {})
      : base{std::move(name), place, base::is_put_nothrow}, fn_{std::move(fn)} {}

  bool may_fail(std::span<write* const> writes) const noexcept override {
    if (!folds_nothrow<Fn, Value> || base::may_fail_to_put(writes))
      return true;
    return std::ranges::count(writes, true, &write::overwrite) > 1;
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
      if (overwrite)
        base::put(held, overwrite->content.template take<Value>());
      else
        fold_all(held, writes, ids);
    } catch (const std::exception& e) { // a reducer is user code
      return error{failure_code(std::current_exception(), channel_errc::reducer_failed),
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
  using typename base::held_type;

  /// Folds the writes in. If it throws, `held` is unchanged.
  void fold_all(held_type& held, std::span<write* const> writes, id_source& ids) const {
    if constexpr (may_be_absent) {
      if (!held) { // build the value first, then move it into place
        auto made = writes.front()->content.template take<Value>();
        fold_in_turn(made, writes.subspan(1), ids);
        base::put(held, std::move(made));
        return;
      }
    }
    auto& into = value_of(held);
    if constexpr (folds_into_new<Fn, Value>) {
      auto made = static_cast<Value>(
          fn_(std::as_const(into), writes.front()->content.template take<Value>()));
      for (auto* w : writes.subspan(1))
        made = fn_(std::as_const(made), w->content.template take<Value>());
      base::put(held, std::move(made));
    } else if (writes.size() == 1 && (folds_nothrow<Fn, Value> || leaves_value_on_failure<Fn>)) {
      fold(fn_, into, writes.front()->content.template take<Value>(), ids);
    } else if (folds_nothrow<Fn, Value> && !base::may_fail_to_take(writes)) {
      fold_in_turn(into, writes, ids);
    } else {
      auto before = held;
      try {
        fold_in_turn(into, writes, ids);
      } catch (...) {
        base::put(held, std::move(before));
        throw;
      }
    }
  }
  void fold_in_turn(Value& into, std::span<write* const> writes, id_source& ids) const {
    for (auto* w : writes)
      fold(fn_, into, w->content.template take<Value>(), ids);
  }

  static Value& value_of(typename Place::value_type& held) noexcept {
    if constexpr (may_be_absent)
      return *held;
    else
      return held;
  }

  Fn fn_;
};

/// Holds a value for exactly one step. With a guard two writes in one step are an error; otherwise
/// the last one in task order is kept. `EphemeralValue` in langgraph/channels/ephemeral_value.py.
template <class Place, class Value>
class ephemeral_value final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  ephemeral_value(std::string name, Place place, bool guard = true)
      : base{std::move(name), place}, guard_{guard} {}

  bool may_fail(std::span<write* const> writes) const noexcept override {
    return (guard_ && writes.size() > 1) || base::may_fail_to_put(writes.last(1));
  }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    if (writes.empty())
      return update_empty(state);
    if (guard_ && writes.size() > 1)
      return this->guarded_value_only("ephemeral");
    base::put(place_.of(state), writes.back()->content.template take<Value>());
    return changed::yes;
  }
  changed update_empty(state_block& state) const override {
    if (!is_available(state))
      return changed::no;
    base::put(place_.of(state), typename Place::value_type{});
    return changed::yes;
  }
  bool wants_empty_update() const noexcept override { return true; }
  bool may_fail_to_empty() const noexcept override {
    return !base::is_replaced_nothrow ||
           !std::is_nothrow_default_constructible_v<typename Place::value_type>;
  }
  /// A place that cannot be absent counts as empty if it equals a default value. Otherwise every
  /// step would report it as changed.
  bool is_available(const state_block& state) const noexcept override {
    using held = typename Place::value_type;
    try {
      if constexpr (detail::is_comparable<held>())
        return !(place_.of(state) == held{});
      else if constexpr (storable<held>)
        return !detail::same_value(place_.of(state), held{});
      else
        return detail::holder<held>::has(place_.of(state));
    } catch (...) { // the comparison and the constructor are user code
      return true;
    }
  }

private:
  bool guard_;
};

namespace detail {

/// Converts a write to a topic into its items: here the write is a list of items.
template <class Item>
struct listed_items {
  using written = std::vector<Item>;
  written operator()(written&& items) const { return std::move(items); }
};

} // namespace detail

/// Collects the items written in one step (or, with `accumulate`, in all steps), in task order. A
/// write is a list of items, or a value that `Items` converts to one. `Topic` in
/// langgraph/channels/topic.py.
template <class Place, class Item, class Items = detail::listed_items<Item>>
class topic final : public detail::placed_channel<Place, typename Items::written> {
  using base = detail::placed_channel<Place, typename Items::written>;
  using base::place_;

public:
  topic(std::string name, Place place, bool accumulate = false)
      : base{std::move(name), place, is_item_nothrow}, accumulate_{accumulate} {}

  bool may_fail(std::span<write* const> writes) const noexcept override {
    return !is_item_nothrow || base::may_fail_to_take(writes);
  }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    auto& items = place_.of(state);
    const auto before = static_cast<std::ptrdiff_t>(items.size());
    try { // append to the old items, so that these are still there if a move throws
      for (auto* w : writes) {
        for (auto& item : Items{}(w->content.template take<typename Items::written>()))
          items.push_back(std::move(item));
      }
    } catch (...) {
      items.erase(items.begin() + before, items.end());
      throw;
    }
    if (!accumulate_)
      items.erase(items.begin(), items.begin() + before);
    return before != 0 || !items.empty() ? changed::yes : changed::no;
  }
  changed update_empty(state_block& state) const override {
    if (accumulate_ || !is_available(state))
      return changed::no;
    place_.of(state).clear();
    return changed::yes;
  }
  bool wants_empty_update() const noexcept override { return !accumulate_; }
  bool may_fail_to_empty() const noexcept override { return false; }
  bool is_available(const state_block& state) const noexcept override {
    return !place_.of(state).empty();
  }

private:
  static constexpr bool is_item_nothrow =
      std::is_nothrow_move_constructible_v<Item> && std::is_nothrow_move_assignable_v<Item>;

  bool accumulate_;
};

} // namespace superstep
