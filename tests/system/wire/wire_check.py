# SPDX-License-Identifier: Apache-2.0
"""wire_check.py DRIVER: validates requests of DRIVER (wire_driver) with the types of the SDKs of
OpenAI, Anthropic and Ollama, and compares the messages it parses with answers written by these types.
Exit code 1 if anything differs."""
import collections
import json
import subprocess
import sys

import anthropic.types as at
import ollama._types as ot
import openai.types.chat as oc
import openai.types.responses as orr
from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params

from wire_types import faults

REQUESTS = {
    "chat": (completion_create_params.CompletionCreateParamsNonStreaming,
             completion_create_params.CompletionCreateParamsStreaming),
    "responses": (response_create_params.ResponseCreateParamsNonStreaming,
                  response_create_params.ResponseCreateParamsStreaming),
    "anthropic": (message_create_params.MessageCreateParamsNonStreaming,
                  message_create_params.MessageCreateParamsStreaming),
    "ollama": (ot.ChatRequest, ot.ChatRequest),
}
# Ollama's API has these members (api.Message and api.ToolCall of version 0.17), but not its Python
# SDK. Options and tool schemas are defined by the user.
ALSO = {
    # User parameters, which version 2 of the SDK does not list any more. A tool schema may be any
    # mapping besides the typed one; strict tools need the member.
    "anthropic": {"": {"temperature", "top_p"}, ".tools[].input_schema": {"additionalProperties"}},
    "ollama": {".messages[]": {"tool_call_id"}, ".messages[].tool_calls[]": {"id"}},
}
CALLS = [{"id": "c1", "name": "weather", "args": {"city": "Tromsø", "days": 2}},
         {"id": "c2", "name": "now", "args": {}}]


def check_requests(driver):
    lines = subprocess.run([driver, "requests"], check=True, capture_output=True, text=True).stdout
    wrong, counts, refused = 0, collections.Counter(), collections.Counter()
    for line in lines.splitlines():
        request = json.loads(line)
        api = request["api"]
        if "error" in request:
            refused[api] += 1
            continue
        counts[api] += 1
        hint = REQUESTS[api][1 if request["body"].get("stream") else 0]
        for fault in faults(request["body"], hint, "", ALSO.get(api)):
            wrong += 1
            print(f"{api} {request['name']}: {fault}")
    for api, count in counts.items():
        print(f"{api}: {count} requests, {refused[api]} refused before they were sent")
        if count < 50:
            wrong += 1
            print(f"{api}: too few requests were compared")
    return wrong


def sse(events, named=False):
    out = ""
    for event in events:
        if named:
            out += f"event: {json.loads(event)['type']}\n"
        out += f"data: {event}\n\n"
    return out


def dumps(model, how):
    return model.model_dump_json(**how)


def pieces(text, size=5):
    return [text[i:i + size] for i in range(0, len(text), size)]


def arguments(call):
    return json.dumps(call["args"], ensure_ascii=False)


def chat_answers(how):
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    calls = [{"id": c["id"], "type": "function",
              "function": {"name": c["name"], "arguments": arguments(c)}} for c in CALLS]
    whole = oc.ChatCompletion.model_validate({
        "id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
        "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": None,
                     "message": {"role": "assistant", "content": "well", "refusal": None,
                                 "tool_calls": calls}}]})
    deltas = [{"role": "assistant", "content": ""}] + [{"content": p} for p in ("we", "ll")]
    for i, call in enumerate(calls):
        deltas.append({"tool_calls": [dict(call, index=i, function={"name": call["function"]["name"],
                                                                    "arguments": ""})]})
        deltas += [{"tool_calls": [{"index": i, "function": {"arguments": p}}]}
                   for p in pieces(call["function"]["arguments"])]
    chunk = lambda choices, more={}: oc.ChatCompletionChunk.model_validate(
        {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
         "choices": choices, **more})
    chunks = [chunk([{"index": 0, "delta": d, "finish_reason": None}]) for d in deltas]
    chunks += [chunk([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]),
               chunk([], {"usage": usage})]
    yield False, dumps(whole, how)
    yield True, sse([dumps(c, how) for c in chunks] + ["[DONE]"])


def anthropic_answers(how):
    usage = {"input_tokens": 7, "output_tokens": 5}
    blocks = [{"type": "text", "text": "well"}] + [
        {"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]} for c in CALLS]
    head = {"id": "m1", "type": "message", "role": "assistant", "model": "m",
            "stop_sequence": None}
    whole = at.Message.model_validate(dict(head, content=blocks, stop_reason="tool_use",
                                           usage=usage))
    events = [at.RawMessageStartEvent.model_validate(
        {"type": "message_start", "message": dict(head, content=[], stop_reason=None,
                                                  usage={"input_tokens": 7, "output_tokens": 1})})]
    for i, block in enumerate(blocks):
        start = {"type": "text", "text": ""} if i == 0 else dict(block, input={})
        deltas = [{"type": "text_delta", "text": p} for p in ("we", "ll")] if i == 0 else [
            {"type": "input_json_delta", "partial_json": p}
            for p in [""] + (pieces(arguments(CALLS[i - 1])) if CALLS[i - 1]["args"] else [])]
        events.append(at.RawContentBlockStartEvent.model_validate(
            {"type": "content_block_start", "index": i, "content_block": start}))
        events += [at.RawContentBlockDeltaEvent.model_validate(
            {"type": "content_block_delta", "index": i, "delta": d}) for d in deltas]
        events.append(at.RawContentBlockStopEvent.model_validate(
            {"type": "content_block_stop", "index": i}))
    events += [at.RawMessageDeltaEvent.model_validate(
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
         "usage": {"output_tokens": 5}}),
        at.RawMessageStopEvent.model_validate({"type": "message_stop"})]
    yield False, dumps(whole, how)
    yield True, sse([dumps(e, how) for e in events], named=True)


def responses_answers(how):
    usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12,
             "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}
    text = {"type": "output_text", "text": "well", "annotations": [], "logprobs": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [text]}
    items = [said] + [{"type": "function_call", "id": "fc_" + c["id"], "call_id": c["id"],
                       "name": c["name"], "arguments": arguments(c), "status": "completed"}
                      for c in CALLS]
    head = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "error": None,
            "incomplete_details": None, "instructions": None, "metadata": {},
            "parallel_tool_calls": True, "temperature": 1, "tool_choice": "auto", "tools": [],
            "top_p": 1}
    answer = lambda status, output: dict(head, status=status, output=output,
                                         usage=usage if status == "completed" else None)
    whole = orr.Response.model_validate(answer("completed", items))
    plan = [(orr.ResponseCreatedEvent, {"type": "response.created",
                                        "response": answer("in_progress", [])}),
            (orr.ResponseInProgressEvent, {"type": "response.in_progress",
                                           "response": answer("in_progress", [])})]
    for i, item in enumerate(items):
        started = dict(item, status="in_progress", **(
            {"content": []} if i == 0 else {"arguments": ""}))
        plan.append((orr.ResponseOutputItemAddedEvent,
                     {"type": "response.output_item.added", "output_index": i, "item": started}))
        place = {"item_id": item["id"], "output_index": i}
        if i == 0:
            place["content_index"] = 0
            plan.append((orr.ResponseContentPartAddedEvent, dict(
                place, type="response.content_part.added", part=dict(text, text=""))))
            plan += [(orr.ResponseTextDeltaEvent, dict(
                place, type="response.output_text.delta", delta=p, logprobs=[]))
                for p in ("we", "ll")]
            plan.append((orr.ResponseTextDoneEvent, dict(
                place, type="response.output_text.done", text="well", logprobs=[])))
            plan.append((orr.ResponseContentPartDoneEvent, dict(
                place, type="response.content_part.done", part=text)))
        else:
            plan += [(orr.ResponseFunctionCallArgumentsDeltaEvent, dict(
                place, type="response.function_call_arguments.delta", delta=p))
                for p in pieces(item["arguments"])]
            plan.append((orr.ResponseFunctionCallArgumentsDoneEvent, dict(
                place, type="response.function_call_arguments.done", name=item["name"],
                arguments=item["arguments"])))
        plan.append((orr.ResponseOutputItemDoneEvent,
                     {"type": "response.output_item.done", "output_index": i, "item": item}))
    plan.append((orr.ResponseCompletedEvent, {"type": "response.completed",
                                              "response": answer("completed", items)}))
    events = [kind.model_validate(dict(event, sequence_number=n))
              for n, (kind, event) in enumerate(plan)]
    yield False, dumps(whole, how)
    yield True, sse([dumps(e, how) for e in events], named=True)


def ollama_answers(how):
    line = lambda message, **more: dumps(ot.ChatResponse.model_validate(
        {"model": "m", "created_at": "2026-01-01T00:00:00Z",
         "message": dict(message, role="assistant"), **more}), how)
    calls = [{"function": {"name": c["name"], "arguments": c["args"]}} for c in CALLS]
    end = {"done": True, "done_reason": "stop", "total_duration": 1, "load_duration": 1,
           "prompt_eval_count": 7, "prompt_eval_duration": 1, "eval_count": 5, "eval_duration": 1}
    yield False, line({"content": "well", "tool_calls": calls}, **end)
    yield True, "".join(one + "\n" for one in [
        line({"content": "we"}, done=False), line({"content": "ll"}, done=False),
        line({"content": "", "tool_calls": calls}, done=False), line({"content": ""}, **end)])


ANSWERS = {"chat": chat_answers, "anthropic": anthropic_answers, "responses": responses_answers,
           "ollama": ollama_answers}
HOWS = {"every member": {}, "members that were set": {"exclude_unset": True},
        "members that are not null": {"exclude_none": True}}


def check_answers(driver):
    asked, names = [], []
    for api, make in ANSWERS.items():
        for name, how in HOWS.items():
            for stream, text in make(how):
                asked.append(json.dumps({"api": api, "stream": stream, "text": text}))
                names.append(f"{api} {'stream' if stream else 'answer'} with {name}")
    read = subprocess.run([driver, "read"], check=True, capture_output=True, text=True,
                          input="\n".join(asked) + "\n").stdout.splitlines()
    wrong = 0 if len(read) == len(names) else 1
    for name, line in zip(names, read):
        answer = json.loads(line)
        calls = answer.get("calls", [])
        want = CALLS
        if name.startswith("ollama"):  # its calls have no ids
            calls = [dict(c, id="") for c in calls]
            want = [dict(c, id="") for c in CALLS]
        usage = answer.get("usage", {})
        counts = [usage.get(k) for k in ("input_tokens", "output_tokens", "total_tokens")]
        if answer.get("text") != "well" or calls != want or counts != [7, 5, 12]:
            wrong += 1
            print(f"{name}: read as {line}")
    print(f"{len(read)} answers and streams read")
    return wrong


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = check_requests(sys.argv[1]) + check_answers(sys.argv[1])
    print(f"{found} differences")
    sys.exit(1 if found else 0)
