// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/wrong_type.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace superstep {

/// The context that a caller passes to a run: one object of any type, shared read-only by all
/// nodes.
///
/// It is read as the type that the shared_ptr had when it was stored, without const. A base class
/// of that type does not match.
class run_context {
public:
  run_context() noexcept = default;
  run_context(std::nullptr_t) noexcept {}
  template <class T>
    requires(!std::is_void_v<T>)
  run_context(std::shared_ptr<T> object) noexcept
      : object_{std::move(object)},
        type_{object_ != nullptr ? &typeid(std::remove_cv_t<T>) : nullptr} {}

  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Whether the context is an object of this type.
  template <class T>
  [[nodiscard]] bool holds() const noexcept {
    return type_ != nullptr && *type_ == typeid(T);
  }
  /// The object, or null if there is none. Throws wrong_type if it is of another type.
  template <class T>
  [[nodiscard]] const T* get() const {
    if (object_ != nullptr && !holds<T>())
      detail::throw_wrong_type("the context of the run", type_, typeid(T));
    return static_cast<const T*>(object_.get());
  }
  /// The object, or null if there is none of this type.
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> share_if() const noexcept {
    return holds<T>() ? std::static_pointer_cast<const T>(object_) : nullptr;
  }
  /// The object, or null if there is none of this type.
  template <class T>
  [[nodiscard]] const T* get_if() const noexcept {
    return holds<T>() ? static_cast<const T*>(object_.get()) : nullptr;
  }

private:
  std::shared_ptr<const void> object_;
  const std::type_info* type_ = nullptr;
};

} // namespace superstep
