// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/wrong_type.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace superstep {

namespace detail {

/// The operations of a value on its object. There is one constant for each type, and its address
/// identifies the type.
struct value_ops {
  void (*destroy)(void*) noexcept;
  void (*copy)(void*, const void*);
  void (*move)(void*, void*) noexcept;
  const std::type_info* type; ///< for error texts
};

/// The largest size in bytes of an object that is stored inside a value.
inline constexpr std::size_t value_inline_size = 24;

template <class T>
inline constexpr bool fits_inline =
    sizeof(T) <= value_inline_size && alignof(T) <= alignof(void*) &&
    std::is_nothrow_move_constructible_v<T>;

/// A reference-counted large object, which the copies of a value share.
template <class T>
struct shared_box {
  std::atomic<std::uint32_t> holders{1};
  T object;
};

/// The operations on an object that is stored inside the value.
template <class T>
struct inline_ops {
  static void destroy(void* at) noexcept { static_cast<T*>(at)->~T(); }
  static void copy(void* to, const void* from) { ::new (to) T(*static_cast<const T*>(from)); }
  static void move(void* to, void* from) noexcept {
    ::new (to) T(std::move(*static_cast<T*>(from)));
    static_cast<T*>(from)->~T();
  }
};

/// The operations on an object in a shared_box.
template <class T>
struct boxed_ops {
  using box = shared_box<T>;
  static box* get(const void* at) noexcept { return *static_cast<box* const*>(at); }
  static void destroy(void* at) noexcept {
    if (get(at)->holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete get(at);
  }
  static void copy(void* to, const void* from) {
    get(from)->holders.fetch_add(1, std::memory_order_relaxed);
    ::new (to) box*(get(from));
  }
  static void move(void* to, void* from) noexcept { ::new (to) box*(get(from)); }
};

template <class T>
using ops_of = std::conditional_t<fits_inline<T>, inline_ops<T>, boxed_ops<T>>;

template <class T>
inline constexpr value_ops value_ops_for{&ops_of<T>::destroy, &ops_of<T>::copy, &ops_of<T>::move,
                                         &typeid(T)};

} // namespace detail

/// An object of any copyable type: the content of a write, of a Send or of a streamed message.
///
/// Objects of up to 24 bytes whose move does not throw are stored in the value. Copies of a value
/// share any other object, so that copying is O(1). Not synchronised, but copies may be used on
/// different threads.
class value {
public:
  /// Creates an empty value.
  value() noexcept = default;
  /// Stores an object. Throws what its copy or move constructor throws.
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, value>)
  explicit value(T&& object) {
    using object_type = std::remove_cvref_t<T>;
    if constexpr (detail::fits_inline<object_type>)
      ::new (static_cast<void*>(bytes_)) object_type(std::forward<T>(object));
    else
      ::new (static_cast<void*>(bytes_)) detail::shared_box<object_type>*(
          new detail::shared_box<object_type>{{1}, std::forward<T>(object)});
    ops_ = &detail::value_ops_for<object_type>;
  }
  /// Takes the object of another value, which is empty afterwards.
  value(value&& other) noexcept : ops_{std::exchange(other.ops_, nullptr)} {
    if (ops_)
      ops_->move(bytes_, other.bytes_);
  }
  /// Copies a small object, or shares a large one.
  value(const value& other) : ops_{other.ops_} {
    if (ops_)
      ops_->copy(bytes_, other.bytes_);
  }
  /// Replaces the object by that of another value.
  value& operator=(value other) noexcept {
    reset();
    if (other.ops_) {
      ops_ = std::exchange(other.ops_, nullptr);
      ops_->move(bytes_, other.bytes_);
    }
    return *this;
  }
  ~value() { reset(); }

  /// Whether the value holds an object.
  [[nodiscard]] bool has_value() const noexcept { return ops_ != nullptr; }
  /// Whether the value holds a T.
  template <class T>
  [[nodiscard]] bool holds() const noexcept {
    return ops_ == &detail::value_ops_for<T>;
  }
  /// Returns the object, or null if the value is empty or holds another type. Valid until the value
  /// is changed.
  template <class T>
  [[nodiscard]] const T* get_if() const noexcept {
    return holds<T>() ? &at<T>() : nullptr;
  }
  /// Returns the object. Throws wrong_type if the value is empty or holds another type. Valid until
  /// the value is changed.
  template <class T>
  [[nodiscard]] const T& as() const {
    if (!holds<T>()) [[unlikely]]
      detail::throw_wrong_type("the value", ops_ != nullptr ? ops_->type : nullptr, typeid(T));
    return at<T>();
  }
  /// Returns the object: moved if no copy of this value shares it, else copied. Throws wrong_type
  /// if the value is empty or holds another type.
  template <class T>
  [[nodiscard]] T take() {
    if (!holds<T>()) [[unlikely]]
      detail::throw_wrong_type("the value", ops_ != nullptr ? ops_->type : nullptr, typeid(T));
    if constexpr (detail::fits_inline<T>) {
      return std::move(*std::launder(reinterpret_cast<T*>(bytes_)));
    } else {
      auto* box = detail::boxed_ops<T>::get(bytes_);
      if (box->holders.load(std::memory_order_acquire) == 1)
        return std::move(box->object);
      return box->object;
    }
  }

  /// Whether take<T>() may throw. It may if the value does not hold a T, or if copying or moving
  /// the object may throw.
  template <class T>
  [[nodiscard]] bool may_fail_to_give() const noexcept {
    if (!holds<T>()) [[unlikely]]
      return true;
    if constexpr (detail::fits_inline<T>)
      return false;
    else if (detail::boxed_ops<T>::get(bytes_)->holders.load(std::memory_order_acquire) == 1)
      return !std::is_nothrow_move_constructible_v<T>;
    else
      return !std::is_nothrow_copy_constructible_v<T>;
  }

private:
  template <class T>
  [[nodiscard]] const T& at() const noexcept {
    if constexpr (detail::fits_inline<T>)
      return *std::launder(reinterpret_cast<const T*>(bytes_));
    else
      return detail::boxed_ops<T>::get(bytes_)->object;
  }
  void reset() noexcept {
    if (ops_)
      std::exchange(ops_, nullptr)->destroy(bytes_);
  }

  alignas(void*) std::byte bytes_[detail::value_inline_size];
  const detail::value_ops* ops_ = nullptr;
};

} // namespace superstep
