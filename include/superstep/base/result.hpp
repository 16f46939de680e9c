// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <boost/system/result.hpp>

namespace superstep {

/// A value or an `error`; the return type of functions that can fail. Exceptions are not thrown
/// across components.
template <class T = void>
using result = boost::system::result<T, error>;

/// Called by result<T>::value(): throws std::system_error with code and text of the error.
[[noreturn]] void throw_exception_from_error(const error&, const boost::source_location&);

} // namespace superstep
