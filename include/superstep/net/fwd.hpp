// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

class io_runtime;
class http_client;
class http_stream;
struct http_client_options;
struct http_request;
struct http_response;
struct process_request;
struct process_result;
struct url;

} // namespace superstep
