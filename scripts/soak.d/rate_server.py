"""A model server on loopback that counts the requests and tokens of every sliding minute."""
import asyncio
import collections
import json
import random
import time

MINUTE_S = 60.0


class Server:
    """Counts requests and tokens by the time at which a request arrives. A limit of 0 is not checked."""

    def __init__(self, rpm, tpm, refused_share, reports, seed, sender_of=lambda body: None):
        self.rpm, self.tpm, self.refused_share, self.reports = rpm, tpm, refused_share, reports
        self.random = random.Random(seed)
        self.arrivals = []  # [time, tokens]
        self.recent = collections.deque()
        self.recent_tokens = 0
        self.refused = self.over_limit = 0
        self.sender_of = sender_of  # returns the sender of a request, for `senders`
        self.senders = []  # (time, sender)
        self.port = None

    async def start(self):
        self.server = await asyncio.start_server(self.talk, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def admit(self, now, tokens):
        """Returns whether a request is within the limits."""
        while self.recent and self.recent[0][0] <= now - MINUTE_S:
            self.recent_tokens -= self.recent.popleft()[1]
        self.arrivals.append([now, 0])
        self.recent.append(self.arrivals[-1])
        is_over = ((self.rpm and len(self.recent) > self.rpm) or
                   (self.tpm and self.recent_tokens + tokens > self.tpm))
        self.over_limit += is_over
        if is_over or self.random.random() < self.refused_share:
            self.refused += 1
            return False
        self.arrivals[-1][1] = tokens
        self.recent_tokens += tokens
        return True

    def reported(self):
        """The headers with what is left of the limit of requests, which refills evenly."""
        if not self.reports:
            return ""
        used = min(len(self.recent), self.rpm)
        reset_ms = int(used / self.rpm * MINUTE_S * 1000)
        return (f"x-ratelimit-limit-requests: {self.rpm}\r\n"
                f"x-ratelimit-remaining-requests: {self.rpm - used}\r\n"
                f"x-ratelimit-reset-requests: {reset_ms}ms\r\n")

    async def talk(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                            if line.lower().startswith(b"content-length:"))
                body = await reader.readexactly(size)
                self.senders.append((time.monotonic(), self.sender_of(body)))
                tokens_in = len(body) // 4
                tokens_out = self.random.randint(20, 140)
                is_admitted = self.admit(time.monotonic(), tokens_in + tokens_out)
                more = self.reported()
                if is_admitted:
                    await asyncio.sleep(self.random.uniform(0.1, 1.0))
                    status = "200 OK"
                    answer = {"id": "a", "model": "m", "choices": [
                        {"index": 0, "message": {"role": "assistant", "content": "yes"},
                         "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out,
                                  "total_tokens": tokens_in + tokens_out}}
                else:
                    status = "429 Too Many Requests"
                    answer = {"error": {"message": "too many requests", "code": "rate_limit_exceeded"}}
                text = json.dumps(answer)
                writer.write((f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{more}"
                              f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def extremes(self, begin, end):
        """Returns the least and the most requests and tokens of the sliding minutes between two times."""
        least, most = [float("inf")] * 2, [0, 0]
        window, sums = collections.deque(), [0, 0]
        for when, tokens in self.arrivals:
            if not begin <= when <= end:
                continue
            while window and window[0][0] <= when - MINUTE_S:
                # The minute that ends just before this arrival is complete.
                least = [min(a, b) for a, b in zip(least, sums)]
                sums = [sums[0] - 1, sums[1] - window.popleft()[1]]
            window.append((when, tokens))
            sums = [sums[0] + 1, sums[1] + tokens]
            most = [max(a, b) for a, b in zip(most, sums)]
        return least, most
