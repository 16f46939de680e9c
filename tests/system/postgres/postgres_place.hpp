// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "system/ledger/postgres_server.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <memory>
#include <string>

namespace superstep::testing {

/// Returns the server of this test program. It is started once, because that takes seconds.
inline postgres_server& shared_server() {
  static auto server = postgres_server{};
  return server;
}

/// Deletes all threads, stores and caches.
inline void clear_database() {
  shared_server().run("drop schema if exists superstep_threads cascade");
}

inline postgres_checkpointer_options quick_options() {
  auto out = postgres_checkpointer_options{};
  out.lease_time = std::chrono::milliseconds{600};
  return out;
}

} // namespace superstep::testing
