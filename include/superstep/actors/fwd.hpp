// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {
class engine;
struct engine_options;
class run_handle;
class event_sink;
class event_stream;
struct run_event;
} // namespace superstep
