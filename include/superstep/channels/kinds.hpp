// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/detail/make_unique_as.hpp>
#include <superstep/channels/channel.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {
/// Whether Fn is a function with one parameter list, not a template or a set of overloads.
template <class Fn>
concept has_one_signature = std::is_pointer_v<Fn> || requires { &Fn::operator(); };

/// Whether a reducer takes the value that it is to change as a copy or as const. It changes nothing
/// then. Templates and overloads take parameters of any kind, so they are not examined.
template <class Fn, class T, class... More>
concept changes_copy = has_one_signature<Fn> && std::invocable<const Fn&, T&&, More...>;
} // namespace detail

/// A reducer: a function that combines a new value with the value of a channel. Runs call it at the
/// barrier and before they call a router, several runs at the same time, so it must be thread-safe.
/// engine::get_state() and engine::update_state() call it on the calling thread. It has one of
/// three forms:
///
///     void fn(T& into, T&& more)                  // changes `into`
///     void fn(T& into, T&& more, id_source& ids)  // changes `into`; `ids` makes ids for new parts
///     T fn(const T& into, const T& more)          // returns a new value, like std::plus<>
template <class Fn, class T>
concept reducer_for = (std::invocable<const Fn&, T&, T&&, id_source&> &&
                       !detail::changes_copy<Fn, T, T&&, id_source&>) ||
                      (std::invocable<const Fn&, T&, T&&> &&
                       ((std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>> &&
                         !detail::changes_copy<Fn, T, T&&>) ||
                        std::convertible_to<std::invoke_result_t<const Fn&, T&, T&&>, T>));

/// Combines `more` with `into` by a reducer of any of the three forms. Throws what the reducer
/// throws.
template <class T, reducer_for<T> Fn>
void fold(const Fn& fn, T& into, std::type_identity_t<T>&& more, id_source& ids) {
  if constexpr (std::invocable<const Fn&, T&, T&&, id_source&>)
    fn(into, std::move(more), ids);
  else if constexpr (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
    fn(into, std::move(more));
  else
    into = fn(into, std::move(more));
}

/// A reducer that appends the written items to a list, as `operator.add` does with lists in
/// LangGraph. Moving a T must not throw.
struct append_items {
  /// A failed append leaves the list as it was, so the engine need not copy it first.
  static constexpr bool leaves_value_on_failure = true;

  /// Moves the items of `more` to the end of `into`. Throws std::bad_alloc.
  template <class T>
  void operator()(std::vector<T>& into, std::vector<T>&& more) const {
    into.insert(into.end(), std::move_iterator{more.begin()}, std::move_iterator{more.end()});
  }
};

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

/// Whether the reducer returns a new value and can be called with a const first parameter.
template <class Fn, class T>
constexpr bool fold_makes_new() {
  if constexpr (!std::invocable<const Fn&, T&, T&&, id_source&>) {
    if constexpr (!std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
      return std::invocable<const Fn&, const T&, T&&>;
  }
  // The call with a const value is not checked for reducers in place: a generic one may not compile
  // with it.
  return false;
}
} // namespace detail

/// Whether fold() with the reducer never throws.
template <class Fn, class T>
inline constexpr bool folds_nothrow = detail::fold_is_nothrow<Fn, T>();

/// Whether the reducer returns a new value and only reads the old one, like std::plus<>.
template <class Fn, class T>
inline constexpr bool folds_into_new = detail::fold_makes_new<Fn, T>();

/// Whether a reducer leaves the value unchanged if it throws. A reducer that changes the value in
/// place declares it:
///
///     static constexpr bool leaves_value_on_failure = true;
///
/// Otherwise each step that calls the reducer first copies the value, unless the reducer is
/// noexcept.
template <class Fn>
concept leaves_value_on_failure = requires { requires Fn::leaves_value_on_failure; };

// Rules for fields without a reducer. A state lists them in its `reducers`.

/// Holds the last value written. Two writes in one step are an error. The default of all fields.
struct last_value_rule {};
/// Holds a value only for the step after it was written. Two writes in one step are an error.
struct ephemeral_rule {};
/// Holds the last value of the latest step, in task order. A step without a write empties the
/// field.
struct any_value_rule {};
/// Holds the last value written, but is not saved in checkpoints. Two writes in one step are an
/// error.
struct untracked_rule {};
/// Holds the items written in the latest step, in task order. A step without items empties the
/// field, which is a std::vector.
struct topic_rule {};
/// Holds the items of all steps. The field is a std::vector.
struct accumulating_topic_rule {};

// The kinds of channels. Each is a template over the place of its value: a field of a described
// struct (field_place), or a slot of a slot_block (slot_place). `Place` is a small copyable class
// with these members:
//
//     using value_type = T;
//     T& of(state_block&);
//     const T& of(const state_block&);
//
// If the value may be absent, T is std::optional<V>, and V is the type that is written.
//
// The classes override the members of channel, whose comments apply.

namespace detail {

/// Tests whether a place holds a value. Only a place of a std::optional may be empty.
template <class T>
struct holder {
  static bool has(const T&) noexcept { return true; }
};
template <class T>
struct holder<std::optional<T>> {
  static bool has(const std::optional<T>& t) noexcept { return t.has_value(); }
};

/// The base class of all kinds of channels. It knows the place of the value, and implements the
/// checkpoint form. `Written` is the type that is written to the channel.
template <class Place, class Written>
class placed_channel : public channel {
public:
  /// @param is_undone true by default if assigning the value cannot throw: a failed update then has
  /// not begun to change the value
  placed_channel(std::string name, Place place, bool is_undone = is_put_nothrow)
      : channel{std::move(name), is_undone}, place_{place} {}

  std::unique_ptr<channel::kept_value> keep(const state_block& state) const override {
    if constexpr (is_replaced_nothrow)
      return make_unique_as<channel::kept_value, old_value>(place_, state);
    else
      return nullptr;
  }
  void own_value(state_block& state) const override { static_cast<void>(place_.of(state)); }
  bool is_kept() const noexcept override { return true; }
  const value_form* written_form() const noexcept override { return form_of<Written>(); }
  std::string stored_type() const override {
    if constexpr (storable<kept_type>)
      return stored_functions<kept_type>::type();
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
        return stored_functions<kept_type>::write_change(out, *was, *is);
      if (is != nullptr) {
        stored_functions<kept_type>::write_whole(out, *is);
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
        return stored_functions<kept_type>::read(*from, held.emplace());
      } else if (from) {
        return stored_functions<kept_type>::read(*from, held);
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

  /// Assigns a value. Destroys and constructs the object if only the assignment may throw, because
  /// a failed assignment may leave a mixture of both values.
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

  /// Whether taking the value of a write may throw.
  static bool may_fail_to_take(std::span<write* const> writes) noexcept {
    for (const auto* w : writes) // not std::ranges::any_of(), which slows down compilation
      if (w->content.template may_fail_to_give<Written>())
        return true;
    return false;
  }
  /// Whether taking the value of a write, or putting it into its place, may throw.
  static bool may_fail_to_put(std::span<write* const> writes) noexcept {
    return !is_put_nothrow || may_fail_to_take(writes);
  }

  /// Returns the value that checkpoints contain; null if it is absent.
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
    // place_.of() does not throw: the update that is undone has changed the value, so no other
    // state shares it.
    void restore(state_block& state) noexcept override { put(place_.of(state), std::move(old_)); }

  private:
    Place place_;
    held_type old_;
  };
};

} // namespace detail

/// Holds the last value written (`LastValue` in langgraph/channels/last_value.py). Two writes in
/// one step are an error, because the state must not depend on which node finishes last. A field
/// that several nodes write in one step needs a reducer.
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

/// Holds the last value written, but is not saved in checkpoints (`UntrackedValue` in
/// langgraph/channels/untracked_value.py). With a guard, two writes in one step are an error.
/// Without a guard, the last write in task order is kept.
template <class Place, class Value>
class untracked_value final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  /// Creates a channel. @param guard whether two writes in one step are an error
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

/// Combines the writes of a step with the value by a reducer, in task order
/// (`BinaryOperatorAggregate` in langgraph/channels/binop.py). If the value is absent, the first
/// write becomes the value unchanged. An overwrite replaces the value, and the other writes of the
/// step are ignored.
template <class Place, class Value, reducer_for<Value> Fn>
class binary_operator_aggregate final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  /// Creates a channel whose values the reducer `fn` combines.
  binary_operator_aggregate(std::string name, Place place, Fn fn = {})
      : base{std::move(name), place, base::is_put_nothrow}, fn_{std::move(fn)} {}

  bool may_fail(std::span<write* const> writes) const noexcept override {
    if (!folds_nothrow<Fn, Value> || base::may_fail_to_put(writes))
      return true;
    return base::has_two_overwrites(writes);
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
                   "the reducer of channel '" + this->name() + "' failed: " + e.what()};
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

  /// Combines the writes with the value. If the reducer throws, `held` is unchanged.
  void fold_all(held_type& held, std::span<write* const> writes, id_source& ids) const {
    if constexpr (may_be_absent) {
      if (!held) { // complete the value before storing it, because the reducer may throw
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

/// Holds a value only for the step after it was written (`EphemeralValue` in
/// langgraph/channels/ephemeral_value.py). With a guard, two writes in one step are an error.
/// Without a guard, the last write in task order is kept.
template <class Place, class Value>
class ephemeral_value final : public detail::placed_channel<Place, Value> {
  using base = detail::placed_channel<Place, Value>;
  using base::place_;

public:
  /// Creates a channel. @param guard whether two writes in one step are an error
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
  /// Whether there is a value. A place that is not a std::optional counts as empty if its value
  /// equals a default-constructed one. Otherwise every step would report the channel as changed.
  bool is_available(const state_block& state) const noexcept override {
    using held = typename Place::value_type;
    try {
      if constexpr (storable<held>)
        return !detail::same_value(place_.of(state), held{});
      else if constexpr (detail::is_comparable<held>())
        return !(place_.of(state) == held{});
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

/// Converts a write to a topic into items, for topics whose writes are lists of items.
template <class Item>
struct listed_items {
  using written = std::vector<Item>;
  written operator()(written&& items) const { return std::move(items); }
};

} // namespace detail

/// Holds the items written in the latest step, in task order; with `accumulate`, the items of all
/// steps (`Topic` in langgraph/channels/topic.py). An overwrite replaces all items, and the other
/// writes of the step are ignored. `Items` is a function object that converts a write to a list of
/// items.
template <class Place, class Item, class Items = detail::listed_items<Item>>
class topic final : public detail::placed_channel<Place, typename Items::written> {
  using base = detail::placed_channel<Place, typename Items::written>;
  using base::place_;

public:
  /// Creates a channel. @param accumulate whether the items of earlier steps are kept
  topic(std::string name, Place place, bool accumulate = false)
      : base{std::move(name), place, is_item_nothrow}, accumulate_{accumulate} {}

  bool may_fail(std::span<write* const> writes) const noexcept override {
    return !is_item_nothrow || base::may_fail_to_take(writes) || base::has_two_overwrites(writes);
  }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    return add(state, writes, !accumulate_);
  }
  result<changed> extend(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    return add(state, writes, false);
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

  /// Adds the items of the writes. If `replaces`, or by an overwrite, they replace the old ones.
  result<changed> add(state_block& state, std::span<write* const> writes, bool replaces) const {
    const auto overwrite = std::ranges::find(writes, true, &write::overwrite);
    if (overwrite != writes.end()) {
      if (base::has_two_overwrites(writes))
        return this->one_overwrite_only();
      writes = {overwrite, 1};
      replaces = true;
    }
    auto& items = place_.of(state);
    const auto before = items.size();
    append(items, writes);
    const auto has_added = items.size() != before;
    if (replaces)
      items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(before));
    return has_added || (replaces && before != 0) ? changed::yes : changed::no;
  }

  /// Appends the items of the writes. The old items come first, so that they are unchanged if a
  /// move throws.
  static void append(auto& items, std::span<write* const> writes) {
    const auto before = static_cast<std::ptrdiff_t>(items.size());
    try {
      for (auto* w : writes) {
        for (auto& item : Items{}(w->content.template take<typename Items::written>()))
          items.push_back(std::move(item));
      }
    } catch (...) {
      items.erase(items.begin() + before, items.end());
      throw;
    }
  }

  bool accumulate_;
};

} // namespace superstep
